// Info: an ordered list of (key, value) strings (MPI 5.0 chapter 10).
//
// Keys are unique and keep the order in which they were first set (MPI_Info_get_nthkey). Owner: reference counted; a
// communicator keeps a copy of the hints that it uses. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/object.hpp"
#include "base/status.hpp"

namespace hr::comm {

class Info final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kInfo;
  Info() noexcept : Object(kKind) {}

  // Errors: MPI_ERR_INFO_KEY if the key is empty or longer than MPI_MAX_INFO_KEY - 1; MPI_ERR_INFO_VALUE if the value
  // is longer than MPI_MAX_INFO_VAL - 1.
  Status set(std::string_view key, std::string_view value);
  // Returns the value, valid until the info changes; nullptr if there is no such key.
  [[nodiscard]] const std::string* get(std::string_view key) const noexcept;
  // Errors: MPI_ERR_INFO_NOKEY if there is no such key.
  Status erase(std::string_view key);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(entries_.size()); }
  [[nodiscard]] const std::string& key(int n) const noexcept { return entries_[static_cast<std::size_t>(n)].first; }

  // Sets every pair of `other` in this info.
  void merge(const Info& other);
  [[nodiscard]] Ref<Info> dup() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// Creates an empty info. Returns an empty Ref if the arena is full.
Ref<Info> create_info();
// Errors: MPI_ERR_INFO_KEY for a key that no info can hold.
Status check_info_key(std::string_view key);

// Returns MPI_INFO_ENV (section 11.2.1), which describes how this process was started. It exists before and after
// initialisation.
Info& info_env();
// MPI_Info_create_env: creates an info with the same keys. If argc > 0, the command line is that of argv.
Ref<Info> create_info_env(int argc, char** argv);

}  // namespace hr::comm
