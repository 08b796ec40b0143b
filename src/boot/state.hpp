// State of boot/ from init() to finalize(). Internal to boot/.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "boot/boot.hpp"
#include "boot/key_values.hpp"
#include "boot/node_store.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

// Prefix of the names of knobs; names of settings are single words.
inline constexpr std::string_view kKnob = "knob ";

struct State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  void close_flags() noexcept;

  Identity identity;
  Processes processes;
  KeyValues settings;
  NodeStore node_store;
  std::unique_ptr<Provider> provider;
  std::vector<int> node_flags;  // sockets of the flags that are set
};

// init() with this provider, for tests.
Status init_with(std::unique_ptr<Provider> provider, const char* name, std::span<const Setting> settings);

// Returns the chosen provider; valid between init() and finalize().
[[nodiscard]] Provider& provider() noexcept;

// Returns the settings of the job; kKnob precedes the names of knobs. Empty before init().
[[nodiscard]] const KeyValues& settings() noexcept;

// Keeps the socket open until finalize(), which closes it.
void keep_open(int socket);

}  // namespace hr::boot
