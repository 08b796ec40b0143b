#include "wire/message.hpp"

#include <climits>

namespace hr::launcher {
namespace {

constexpr std::size_t kPart = std::size_t{256} << 10;

}  // namespace

std::string encode(const Message& message) {
  Writer writer;
  writer.number(static_cast<int>(message.kind));
  writer.number(message.host);
  writer.number(message.rank);
  for (const int number : message.numbers) writer.number(number);
  writer.text(message.text);
  return writer.take();
}

std::optional<Message> decode(std::string_view bytes) {
  Reader reader(bytes);
  Message message;
  message.kind = static_cast<Message::Kind>(reader.number(0, static_cast<int>(Message::Kind::kLast)));
  message.host = static_cast<int>(reader.number(-1, INT_MAX));
  message.rank = static_cast<int>(reader.number(-1, INT_MAX));
  for (int& number : message.numbers) number = static_cast<int>(reader.number(INT_MIN, INT_MAX));
  message.text = reader.text();
  if (!reader.done()) return std::nullopt;
  return message;
}

std::vector<std::string> pack(const std::vector<KeyValue>& pairs) {
  std::vector<std::string> parts;
  Writer writer;
  std::size_t size = 0;
  bool any = false;
  for (const auto& [key, value] : pairs) {
    writer.text(key);
    writer.text(value);
    any = true;
    size += key.size() + value.size();
    if (size < kPart) continue;
    parts.push_back(writer.take());
    writer = Writer();
    size = 0;
    any = false;
  }
  if (any) parts.push_back(writer.take());
  return parts;
}

bool unpack(std::string_view text, std::vector<KeyValue>* pairs) {
  Reader reader(text);
  while (reader.more()) {
    std::string key = reader.text();
    std::string value = reader.text();
    if (reader.ok()) pairs->emplace_back(std::move(key), std::move(value));
  }
  return reader.ok();
}

}  // namespace hr::launcher
