#include "comm/communicator.hpp"

#include <array>

#include "base/abi.hpp"

namespace hr::comm {
namespace {

// Hints of section 7.4.4, all booleans. The first kBits hints are the bits of enum Assertion, in this order. The
// library uses mpi_assert_no_any_tag; the checker uses both.
constexpr std::array<const char*, 4> kAssertions = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                                    "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
constexpr std::size_t kBits = 2;

bool is_set(const Communicator& comm, const char* key) {
  const std::string* value = comm.info_ ? comm.info_->get(key) : nullptr;
  return value != nullptr && *value == "true";
}

}  // namespace

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
  for (const char* key : kAssertions) {
    const std::string* value = hints->get(key);
    if (value == nullptr || (*value != "true" && *value != "false")) continue;
    if (key == kAssertions[0] && *value == "false" && may_use_several_channels(comm)) continue;
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
