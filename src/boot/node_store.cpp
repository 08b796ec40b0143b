#include "boot/node_store.hpp"

namespace hr::boot {

void NodeStore::put(std::string_view key, std::string_view value) {
  if (first_ && !known_) values_.insert_or_assign(std::string(key), std::string(value));
}

Status NodeStore::publish(Provider& provider) {
  if (!first_ || known_ || alone_) return kOk;
  known_ = true;
  if (values_.empty()) values_.emplace("", "");  // a launcher may not accept an empty value
  return put_long(provider, key_, join(values_));
}

Status NodeStore::get(Provider& provider, std::string_view key, std::string* value) {
  if (!first_ && !known_) {
    std::string text;
    HR_TRY(get_long(provider, owner_, key_, &text));
    HR_TRY(split(text, &values_));
    known_ = true;
  }
  const auto found = values_.find(key);
  *value = found != values_.end() ? found->second : "";
  return kOk;
}

}  // namespace hr::boot
