#include "comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/abi.hpp"
#include "base/log.hpp"
#include "comm/core/state.hpp"

namespace hr::comm {
namespace {

// Hints of section 7.4.4, all booleans. The first kBits hints are the bits of enum Assertion, in this order. The
// library uses mpi_assert_no_any_tag; the checker uses both.
constexpr std::array<const char*, 4> kAssertions = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                                    "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
constexpr std::size_t kBits = 2;

// Keys of infos that are passed where a communicator is created, but are no hints that it keeps. The standard defines
// them, and other functions read them.
constexpr std::array<std::string_view, 4> kOtherKeys = {"mpi_assert_memory_alloc_kinds",
                                                        "mpi_assert_strict_persistent_collective_ordering",
                                                        "mpi_hw_resource_type", "mpi_pset_name"};
// A program that makes up keys as it runs must not fill the memory.
constexpr std::size_t kMostShown = 100;

void show_unknown(const Info& hints) {
  for (int i = 0; i < hints.size(); ++i) {
    const std::string& key = hints.key(i);
    const bool known = std::ranges::find(kAssertions, std::string_view(key)) != kAssertions.end() ||
                       std::ranges::find(kOtherKeys, key) != kOtherKeys.end();
    if (!known) show_ignored(key, *hints.get(key), "communicators have no such hint");
  }
}

bool is_set(const Communicator& comm, const char* key) {
  const std::string* value = comm.info_ ? comm.info_->get(key) : nullptr;
  return value != nullptr && *value == "true";
}

}  // namespace

void show_ignored(const std::string& key, const std::string& value, const char* why) {
  if (!log::enabled(log::Level::kNote) || state == nullptr || state->shown_hints.size() >= kMostShown) return;
  if (!state->shown_hints.insert(key + '=' + value + ' ' + why).second) return;
  log::write(log::Level::kNote, "the hint %s=%s of a communicator is ignored: %s", key.c_str(), value.c_str(), why);
}

int compare(const Communicator& a, const Communicator& b) {
  if (&a == &b) return abi::kIdent;
  if (a.is_inter() != b.is_inter()) return abi::kUnequal;
  const int local = compare(*a.local_, *b.local_);
  const int remote = a.is_inter() ? compare(*a.remote_, *b.remote_) : abi::kIdent;
  if (local == abi::kUnequal || remote == abi::kUnequal) return abi::kUnequal;
  return local == abi::kIdent && remote == abi::kIdent ? abi::kCongruent : abi::kSimilar;
}

void set_info(Communicator& comm, const Info* hints) {
  if (hints == nullptr) return;
  show_unknown(*hints);
  for (const char* key : kAssertions) {
    const std::string* value = hints->get(key);
    if (value == nullptr) continue;
    if (*value != "true" && *value != "false") {
      show_ignored(key, *value, "its value is neither true nor false");
      continue;
    }
    if (key == kAssertions[0] && *value == "false" && may_use_several_channels(comm)) {
      show_ignored(key, *value, "tags have chosen channels already");
      continue;
    }
    if (key == kAssertions[0] && *value == "true" && comm.channel_.load(std::memory_order_relaxed) != nullptr)
      show_ignored(key, *value, "the communicator has chosen one channel already");
    if (!comm.info_) comm.info_ = create_info();
    if (comm.info_) static_cast<void>(comm.info_->set(key, *value));
  }
}

std::uint32_t assertions_of(const Communicator& comm) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kBits; ++i) bits |= is_set(comm, kAssertions[i]) ? 1U << i : 0;
  return bits;
}

Ref<Info> get_info(const Communicator& comm) {
  Ref<Info> info = create_info();
  if (!info) return info;
  for (const char* key : kAssertions) static_cast<void>(info->set(key, "false"));
  if (comm.info_) info->merge(*comm.info_);
  return info;
}

}  // namespace hr::comm
