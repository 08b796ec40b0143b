// Converts character variables, which are padded with blanks in Fortran and end with a null character in C.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fortran/sentinels.hpp"

namespace hr::fortran {

inline std::string trimmed(const char* text, int length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return std::string(text, static_cast<std::size_t>(length < 0 ? 0 : length));
}

// Removes leading and trailing blanks, which are ignored in keys, values and names (MPI 5.0 chapter 10).
inline std::string stripped(const char* text, int length) {
  const std::string all = trimmed(text, length);
  const std::size_t first = all.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : all.substr(first);
}

// Buffer for the string that a C function returns; store() copies it into the Fortran variable, truncated or padded
// with blanks.
class TextResult {
 public:
  TextResult(char* text, int length) : text_(text), length_(length), room_(room(length)) {
    room_[0] = '\xff';  // shows whether the call wrote anything: no string that MPI returns begins with this character
  }
  [[nodiscard]] char* data() noexcept { return room_.data(); }
  void store() noexcept {
    if (room_[0] == '\xff') return;
    const std::size_t written = strnlen(room_.data(), room_.size());
    const auto length = static_cast<std::size_t>(length_);
    const std::size_t copied = written < length ? written : length;
    std::memcpy(text_, room_.data(), copied);
    std::memset(text_ + copied, ' ', length - copied);
  }

 private:
  static std::vector<char> room(int length) {
    const int longest = MPI_MAX_LIBRARY_VERSION_STRING;
    return std::vector<char>(static_cast<std::size_t>(length > longest ? length : longest) + 1);
  }
  char* text_;
  int length_;
  std::vector<char> room_;
};

// `count` strings of `length` characters each; with count < 0, all strings before the first blank one.
class TextArray {
 public:
  TextArray(const char* texts, int length, long count, long step = 1) {
    for (long i = 0; count < 0 || i < count; ++i) {
      std::string text = stripped(texts + i * step * length, length);
      if (count < 0 && text.empty()) break;
      texts_.push_back(std::move(text));
    }
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char** data() noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Arguments of a command; a null pointer for MPI_ARGV_NULL.
class Arguments {
 public:
  Arguments(const char* texts, int length) {
    if (texts != hr_f_string_sentinels.argv_null) array_.emplace_back(texts, length, -1);
  }
  [[nodiscard]] char** data() noexcept { return array_.empty() ? MPI_ARGV_NULL : array_.front().data(); }

 private:
  std::vector<TextArray> array_;
};

// Arguments of `count` commands: an array (count, *) of strings in Fortran.
class ArgumentLists {
 public:
  ArgumentLists(const char* texts, int length, long count) {
    if (texts == hr_f_string_sentinels.argvs_null) return;
    for (long i = 0; i < count; ++i) arrays_.emplace_back(texts + i * length, length, -1, count);
    for (TextArray& array : arrays_) pointers_.push_back(array.data());
  }
  [[nodiscard]] char*** data() noexcept { return pointers_.empty() ? MPI_ARGVS_NULL : pointers_.data(); }

 private:
  std::vector<TextArray> arrays_;
  std::vector<char**> pointers_;
};

}  // namespace hr::fortran
