#include "boot/node_words.hpp"

#include <charconv>

namespace hr::boot {
namespace {

void append(std::string_view text, std::string* to) { *to += std::to_string(text.size()) + "/" + std::string(text); }

// Takes one text off the front. False: there is none.
bool take(std::string_view* from, std::string* text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), size);
  const auto digits = static_cast<std::size_t>(end - from->data());
  if (error != std::errc() || digits == from->size() || *end != '/' || size > from->size() - digits - 1) return false;
  *text = from->substr(digits + 1, size);
  from->remove_prefix(digits + 1 + size);
  return true;
}

}  // namespace

void NodeWords::tell(std::string_view key, std::string_view value) {
  if (first_ && !known_) words_.insert_or_assign(std::string(key), std::string(value));
}

Status NodeWords::publish(Provider& provider) {
  if (!first_ || known_ || alone_) return kOk;
  known_ = true;
  if (words_.empty()) words_.emplace("", "");  // a launcher may not take a value without characters
  return provider.put(key_, join(words_));
}

Status NodeWords::told(Provider& provider, std::string_view key, std::string* value) {
  if (!first_ && !known_) {
    std::string text;
    HR_TRY(provider.get(key_, &text));
    HR_TRY(split(text, &words_));
    known_ = true;
  }
  const auto found = words_.find(key);
  *value = found != words_.end() ? found->second : "";
  return kOk;
}

std::string join(const Words& words) {
  std::string text;
  for (const auto& [key, value] : words) {
    append(key, &text);
    append(value, &text);
  }
  return text;
}

Status split(std::string_view text, Words* words) {
  words->clear();
  for (std::string_view rest = text; !rest.empty();) {
    std::string key;
    std::string value;
    if (!take(&rest, &key) || !take(&rest, &value)) {
      return fail(Errc::kOther, "the launcher handed out \"%.*s\" as words of this node", static_cast<int>(text.size()),
                  text.data());
    }
    words->insert_or_assign(std::move(key), std::move(value));
  }
  return kOk;
}

}  // namespace hr::boot
