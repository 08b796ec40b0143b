#include "rma/hints.hpp"

#include <bit>
#include <charconv>
#include <string>
#include <string_view>

#include "rma/rma.hpp"

namespace hr::rma {

namespace {

constexpr std::size_t kMostAlignment = 4096;

struct Hint {
  const char* key;
  const char* value;  // default
  bool boolean;
};

// Accumulates are always ordered and always atomic element by element, so hints that relax this are stored but have no
// effect.
constexpr Hint kHints[] = {
    {"no_locks", "false", true},
    {"accumulate_ordering", "rar,raw,war,waw", false},
    {"accumulate_ops", "same_op_no_op", false},
    {"mpi_accumulate_granularity", "0", false},
    {"same_size", "false", true},
    {"same_disp_unit", "false", true},
    {"alloc_shared_noncontig", "false", true},
    {"mpi_minimum_memory_alignment", "64", false},
};

const std::string* given(const Window& window, std::string_view key) {
  return window.hints_ ? window.hints_->get(key) : nullptr;
}

}  // namespace

std::size_t alignment_hint(const Window& window) noexcept {
  const std::string* const text = given(window, "mpi_minimum_memory_alignment");
  std::size_t value = 0;
  if (text == nullptr || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return 0;
  return std::has_single_bit(value) && value <= kMostAlignment ? value : 0;
}

bool shares_apart(const Window& window) noexcept {
  const std::string* const text = given(window, "alloc_shared_noncontig");
  return text != nullptr && *text == "true";
}

void set_info(Window& window, const comm::Info* hints) {
  if (hints == nullptr) return;
  for (const Hint& hint : kHints) {
    const std::string* const value = hints->get(hint.key);
    if (value == nullptr) continue;
    if (hint.boolean && *value != "true" && *value != "false") continue;
    if (!window.hints_) window.hints_ = comm::create_info();
    if (window.hints_) static_cast<void>(window.hints_->set(hint.key, *value));
  }
  const std::string* const no_locks = given(window, "no_locks");
  window.no_locks_ = no_locks != nullptr && *no_locks == "true";
}

Ref<comm::Info> get_info(const Window& window) {
  Ref<comm::Info> info = comm::create_info();
  if (!info) return info;
  for (const Hint& hint : kHints) static_cast<void>(info->set(hint.key, hint.value));
  if (window.hints_) info->merge(*window.hints_);
  return info;
}

}  // namespace hr::rma
