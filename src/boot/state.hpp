// State of boot/ from init() to finalize(). Internal to boot/.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boot/boot.hpp"
#include "boot/key_values.hpp"
#include "boot/node_store.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

struct State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  void close_flags() noexcept;

  Identity identity;
  Processes processes;
  KeyValues settings;
  std::string settings_signature;  // empty: not computed yet
  NodeStore node_store;
  std::unique_ptr<Provider> provider;
  std::vector<int> node_flags;  // sockets of the flags that are set
};

// init() with this provider, for tests.
Status init_with(std::unique_ptr<Provider> provider, const char* name, std::span<const Setting> settings);

// Returns the number that the system has drawn at its start; empty if it cannot be read. init() reads it, as a later
// call may find no free descriptor.
[[nodiscard]] const std::string& boot_id();

// Returns the chosen provider; valid between init() and finalize().
[[nodiscard]] Provider& provider() noexcept;

// Returns a number, as text, that is computed from the settings of the job on which choices in collective operations
// depend (PeerAddress::settings). Empty before init().
[[nodiscard]] const std::string& settings_signature();

// Keeps the socket open until finalize(), which closes it.
void keep_open(int socket);

}  // namespace hr::boot
