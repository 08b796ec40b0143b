#include "io/hints.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace hr::io {
namespace {

using comm::Info;

// Other hints of section 14.2.8, which are only stored and reported back to the program.
constexpr std::array<const char*, 11> kOthers = {"access_style",
                                                 "collective_buffering",
                                                 "cb_block_size",
                                                 "chunked",
                                                 "chunked_item",
                                                 "chunked_size",
                                                 "filename",
                                                 "io_node_list",
                                                 "nb_proc",
                                                 "num_io_nodes",
                                                 "mpi_assert_memory_alloc_kinds"};

template <class Number>
void take_number(const Info& info, const char* key, Number least, Number* number, int base = 10) {
  const std::string* const text = info.get(key);
  if (text == nullptr) return;
  long long value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value, base);
  if (error != std::errc() || rest != end || value < static_cast<long long>(least)) return;
  if (value <= 0x7fffffff) *number = static_cast<Number>(value);
}

constexpr const char* kNames[] = {"automatic", "enable", "disable"};

void take_choice(const Info& info, const char* key, Choice* choice) {
  const std::string* const text = info.get(key);
  if (text == nullptr) return;
  for (int i = 0; i < 3; ++i) {
    if (*text == kNames[i]) *choice = static_cast<Choice>(i);
  }
}

void put(Info& info, const char* key, const std::string& value) { static_cast<void>(info.set(key, value)); }
void put(Info& info, const char* key, Choice choice) { put(info, key, std::string(kNames[static_cast<int>(choice)])); }

}  // namespace

void Hints::take(const Info& info) {
  take_number<std::size_t>(info, "cb_buffer_size", 1, &collective_buffer);
  take_number(info, "cb_nodes", 1, &aggregators);
  take_choice(info, "romio_cb_read", &collective_read);
  take_choice(info, "romio_cb_write", &collective_write);
  take_choice(info, "romio_ds_read", &sieve_reads);
  take_number<std::size_t>(info, "ind_rd_buffer_size", 1, &sieve_buffer);
  take_number<std::size_t>(info, "ind_wr_buffer_size", 1, &write_buffer);
  take_number<std::size_t>(info, "striping_unit", 1, &striping_unit);
  take_number(info, "striping_factor", 1, &striping_factor);
  take_number(info, "file_perm", 0, &permissions, 8);
  for (const char* const key : kOthers) {
    const std::string* const value = info.get(key);
    if (value == nullptr) continue;
    if (!others) others = comm::create_info();
    if (others) put(*others, key, *value);
  }
}

Ref<Info> Hints::report() const {
  Ref<Info> info = comm::create_info();
  if (!info) return info;
  put(*info, "cb_buffer_size", std::to_string(collective_buffer));
  if (aggregators > 0) put(*info, "cb_nodes", std::to_string(aggregators));
  put(*info, "romio_cb_read", collective_read);
  put(*info, "romio_cb_write", collective_write);
  put(*info, "romio_ds_read", sieve_reads);
  put(*info, "romio_ds_write", Choice::kDisable);
  put(*info, "ind_rd_buffer_size", std::to_string(sieve_buffer));
  put(*info, "ind_wr_buffer_size", std::to_string(write_buffer));
  if (striping_unit > 0) put(*info, "striping_unit", std::to_string(striping_unit));
  if (striping_factor > 0) put(*info, "striping_factor", std::to_string(striping_factor));
  if (permissions >= 0) {
    char text[8];
    const auto end = std::to_chars(text, text + sizeof text, permissions, 8).ptr;
    put(*info, "file_perm", std::string(text, end));
  }
  if (others) info->merge(*others);
  return info;
}

}  // namespace hr::io
