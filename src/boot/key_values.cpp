#include "boot/key_values.hpp"

#include <charconv>
#include <cstdio>

#include "base/secret.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

constexpr std::size_t kPiece = 900;  // length of a value that every launcher accepts

bool is_plain(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         std::string_view("_-./,:()+@").find(letter) != std::string_view::npos;
}

void append(std::string_view text, std::string* to) {
  const std::string escaped = escape(text);
  *to += std::to_string(escaped.size()) + "/" + escaped;
}

// Removes and returns the leading number, and removes the '/' after it; false if the string does not begin with these.
bool take_number(std::string_view* from, std::size_t* number) {
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), *number);
  const auto digits = static_cast<std::size_t>(end - from->data());
  if (error != std::errc() || digits == from->size() || *end != '/') return false;
  from->remove_prefix(digits + 1);
  return true;
}

bool take_text(std::string_view* from, std::string* text) {
  std::size_t size = 0;
  if (!take_number(from, &size) || size > from->size() || !unescape(from->substr(0, size), text)) return false;
  from->remove_prefix(size);
  return true;
}

std::string key_of_piece(const std::string& key, std::size_t piece) {
  return piece == 0 ? key : key + "-" + std::to_string(piece);
}

Status not_ours(std::string_view text) {
  return fail(Errc::kOther, "boot: the launcher handed out \"%s\", which no process of this library has put",
              without_secrets(text).c_str());
}

Status get_rest(Provider& provider, int owner, const std::string& key, std::string_view first, std::string* text) {
  std::string_view rest = first;
  std::size_t pieces = 0;
  if (!take_number(&rest, &pieces)) return not_ours(first);
  *text = rest;
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    std::string more;
    HR_TRY(provider.get(owner, key_of_piece(key, piece), &more));
    *text += more;
  }
  return kOk;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char letter : text) {
    if (is_plain(letter)) {
      escaped += letter;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    escaped += code;
  }
  return escaped;
}

bool unescape(std::string_view text, std::string* plain) {
  plain->clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      *plain += text[at];
      continue;
    }
    unsigned code = 0;
    if (at + 3 > text.size()) return false;
    const char* const end = text.data() + at + 3;
    const auto read = std::from_chars(text.data() + at + 1, end, code, 16);
    if (read.ec != std::errc() || read.ptr != end) return false;
    *plain += static_cast<char>(code);
    at += 2;
  }
  return true;
}

std::string join(const KeyValues& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    append(key, &text);
    append(value, &text);
  }
  return text;
}

Status split(std::string_view text, KeyValues* pairs) {
  pairs->clear();
  for (std::string_view rest = text; !rest.empty();) {
    std::string key;
    std::string value;
    if (!take_text(&rest, &key) || !take_text(&rest, &value)) return not_ours(text);
    pairs->insert_or_assign(std::move(key), std::move(value));
  }
  return kOk;
}

Status put_long(Provider& provider, const std::string& key, std::string_view text) {
  const std::size_t pieces = text.empty() ? 1 : (text.size() + kPiece - 1) / kPiece;
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    HR_TRY(provider.put(key_of_piece(key, piece), text.substr(piece * kPiece, kPiece)));
  }
  return provider.put(key, std::to_string(pieces) + "/" + std::string(text.substr(0, kPiece)));
}

Status get_long(Provider& provider, int owner, const std::string& key, std::string* text) {
  std::string first;
  HR_TRY(provider.get(owner, key, &first));
  return get_rest(provider, owner, key, first, text);
}

Status get_long_waiting(Provider& provider, int owner, const std::string& key, std::string* text) {
  std::string first;
  HR_TRY(provider.get_waiting(key, &first));
  return get_rest(provider, owner, key, first, text);
}

}  // namespace hr::boot
