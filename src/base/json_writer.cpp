#include "base/json_writer.hpp"

#include <cstdint>
#include <cstdio>

namespace hr {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

// Removes and returns one UTF-8 character; U+FFFD for a byte that begins none.
std::uint32_t take_character(std::string_view* text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>((*text)[at])); };
  const std::uint32_t first = byte(0);
  const std::size_t length = first < 0x80                   ? 1
                             : first < 0xc0 || first > 0xf7 ? 0
                             : first < 0xe0                 ? 2
                             : first < 0xf0                 ? 3
                                                            : 4;
  std::uint32_t character = length == 1 ? first : first & (0x7fU >> length);
  bool valid = length != 0 && length <= text->size();
  for (std::size_t at = 1; valid && at < length; ++at) {
    valid = (byte(at) & 0xc0) == 0x80;
    character = character << 6 | (byte(at) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && character >= kLeast[length] && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
  text->remove_prefix(valid ? length : 1);
  return valid ? character : kReplacement;
}

void append_escape(std::string* out, std::uint32_t unit) {
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(unit & 0xffff));
  *out += escape;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const std::uint32_t character = take_character(&text);
    if (character == '"' || character == '\\') {
      out += '\\';
      out += static_cast<char>(character);
    } else if (character >= 0x20 && character < 0x7f) {
      out += static_cast<char>(character);
    } else if (character < 0x10000) {
      append_escape(&out, character);
    } else {
      append_escape(&out, 0xd800 + ((character - 0x10000) >> 10));
      append_escape(&out, 0xdc00 + ((character - 0x10000) & 0x3ff));
    }
  }
  return out + '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  text_ += json_quoted(name) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin(char bracket) {
  before_value();
  text_ += bracket;
  ++depth_;
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  --depth_;
  if (!is_first_) new_line();
  text_ += bracket;
  is_first_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  before_value();
  text_ += token;
  return *this;
}

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(depth_, ' ');
}

// Separates a value from the previous one in its array or object, unless its key has done so.
void JsonWriter::before_value() {
  if (!after_key_ && depth_ > 0) {
    if (!is_first_) text_ += ',';
    new_line();
  }
  after_key_ = false;
  is_first_ = false;
}

}  // namespace hr
