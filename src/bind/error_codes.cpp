#include "bind/error_codes.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "bind/error_texts.hpp"
#include "mpi.h"

namespace hr::bind {
namespace {

constexpr int kClassBits = 16;
constexpr int kClassMask = (1 << kClassBits) - 1;
// Enough for a program that collects codes and queries their strings later.
constexpr std::size_t kSlots = 512;

std::array<std::string, kSlots> texts;  // slot 0 is not used: a code with slot 0 is a class
std::size_t next_slot = 1;

// A class or code that the program added. They share one sequence of numbers, as MPI_LASTUSEDCODE counts both.
struct Added {
  int error_class;  // the class that a code belongs to; for a class, its own number
  std::string text;
  bool has_text = false;
};
std::map<int, Added> added;
int last_code = MPI_ERR_LASTCODE;
// Removed numbers, the oldest first; reused only when all others are taken, so that a stale number long remains
// unknown.
std::deque<int> removed;

constexpr int kFirstFailure = static_cast<int>(Errc::kProcFailed);
constexpr int kLastFailure = static_cast<int>(Errc::kRevoked);
static_assert(kLastFailure - kFirstFailure == 2 && static_cast<int>(Errc::kProcFailedPending) == kFirstFailure + 1);
std::array<std::string, 3> failure_texts;  // the last text of each class
std::string& failure_text(int code) { return failure_texts[static_cast<std::size_t>(code - kFirstFailure)]; }

const ErrorText* standard_class(int error_class) {
  const auto* found = std::lower_bound(std::begin(kErrorTexts), std::end(kErrorTexts), error_class,
                                       [](const ErrorText& text, int value) { return text.error_class < value; });
  return found != std::end(kErrorTexts) && found->error_class == error_class ? found : nullptr;
}

// Returns nullptr if the program added no such class or code.
Added* find_added(int code) {
  const auto found = added.find(code);
  return found == added.end() ? nullptr : &found->second;
}

Status not_added(int code) {
  return fail(Errc::kArg, "%d is not an error class or code that this program added", code);
}

Status add(int error_class, int* code) {
  if (last_code < kClassMask) {
    *code = ++last_code;
  } else if (!removed.empty()) {
    *code = removed.front();
    removed.pop_front();
  } else {
    return fail(Errc::kOther, "no more error codes: all up to %d are taken", last_code);
  }
  added.emplace(*code, Added{error_class == 0 ? *code : error_class, {}, false});
  return kOk;
}

}  // namespace

int make_instance(int code, std::string text) {
  if (code > MPI_ERR_LASTCODE) return code;
  const std::size_t slot = next_slot;
  next_slot = next_slot + 1 == kSlots ? 1 : next_slot + 1;
  texts[slot] = std::move(text);
  return code | static_cast<int>(slot << kClassBits);
}

bool is_failure(int code) noexcept { return code >= kFirstFailure && code <= kLastFailure; }

void keep_failure_text(int code, std::string text) { failure_text(code) = std::move(text); }

int class_of(int code) {
  if (code < 0) return -1;
  const int low = code & kClassMask;
  if (standard_class(low) != nullptr) return low;
  const auto found = added.find(low);
  return found == added.end() ? -1 : found->second.error_class;
}

bool text_of(int code, std::string* text) {
  if (class_of(code) < 0) return false;
  const auto slot = static_cast<std::size_t>(code >> kClassBits);
  const int low = code & kClassMask;
  if (slot != 0) {
    if (slot >= kSlots || texts[slot].empty()) return false;
    *text = texts[slot];
  } else if (is_failure(low) && !failure_text(low).empty()) {
    *text = failure_text(low);
  } else if (const ErrorText* known = standard_class(low)) {
    *text = std::string(known->name) + ": " + known->sentence;
  } else {
    *text = added.find(low)->second.text;
  }
  return true;
}

std::string class_name(int error_class) {
  const ErrorText* known = standard_class(error_class);
  return known != nullptr ? known->name : "error class " + std::to_string(error_class);
}

std::string_view class_sentence(int error_class) {
  const ErrorText* known = standard_class(error_class);
  return known != nullptr ? std::string_view(known->sentence) : std::string_view();
}

Status add_class(int* error_class) { return add(0, error_class); }

Status add_code(int error_class, int* code) {
  if (class_of(error_class) != error_class) return fail(Errc::kArg, "%d is not an error class", error_class);
  return add(error_class, code);
}

Status add_text(int code, std::string_view text) {
  Added* const entry = find_added(code);
  if (entry == nullptr) return not_added(code);
  if (text.size() >= MPI_MAX_ERROR_STRING) {
    return fail(Errc::kArg, "the text has %zu characters, MPI_MAX_ERROR_STRING allows %d", text.size(),
                MPI_MAX_ERROR_STRING - 1);
  }
  entry->text = text;
  entry->has_text = true;
  return kOk;
}

Status remove_class(int error_class) {
  Added* const entry = find_added(error_class);
  if (entry == nullptr) return not_added(error_class);
  if (entry->error_class != error_class) return fail(Errc::kArg, "%d is an error code, not a class", error_class);
  for (const auto& [code, other] : added) {
    if (other.error_class == error_class && code != error_class) {
      return fail(Errc::kOther, "error class %d still has the code %d; remove it first", error_class, code);
    }
  }
  if (entry->has_text)
    return fail(Errc::kOther, "error class %d still has an error string; remove it first", error_class);
  added.erase(error_class);
  removed.push_back(error_class);
  return kOk;
}

Status remove_code(int code) {
  Added* const entry = find_added(code);
  if (entry == nullptr) return not_added(code);
  if (entry->error_class == code) return fail(Errc::kArg, "%d is an error class, not a code", code);
  if (entry->has_text) return fail(Errc::kOther, "error code %d still has an error string; remove it first", code);
  added.erase(code);
  removed.push_back(code);
  return kOk;
}

Status remove_text(int code) {
  Added* const entry = find_added(code);
  if (entry == nullptr) return not_added(code);
  if (!entry->has_text) return fail(Errc::kOther, "error code %d has no text", code);
  entry->text.clear();
  entry->has_text = false;
  return kOk;
}

int last_used_code() noexcept { return last_code; }

}  // namespace hr::bind
