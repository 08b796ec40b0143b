// Writes JSON: objects and arrays in the order of the calls, with one member per line.
//
//   JsonWriter json;
//   json.begin_object();
//   json.member("name", "node1").member("slots", 4);
//   json.key("ranks").begin_array().value(0).value(1).end_array();
//   json.end_object();
//   std::puts(json.text().c_str());
//
// Owner: its user. Threads: one. A key is followed by one value, object or array; begin and end calls are balanced.
// Text is written as ASCII: a character of valid UTF-8 as its escape, any other byte as U+FFFD.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>

namespace hr {

// Returns `text` as a JSON string, in quotes.
[[nodiscard]] std::string json_quoted(std::string_view text);

class JsonWriter {
 public:
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text) { return raw(json_quoted(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool is) { return raw(is ? "true" : "false"); }
  template <std::integral Integer>
  JsonWriter& value(Integer number) {
    return raw(std::to_string(number));
  }
  template <class List>  // a vector or a span
    requires(std::ranges::range<const List&> && !std::convertible_to<const List&, std::string_view>)
  JsonWriter& value(const List& all) {
    begin_array();
    for (const auto& each : all) value(each);
    return end_array();
  }
  JsonWriter& null() { return raw("null"); }

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& what) {
    key(name);
    return value(what);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  JsonWriter& raw(std::string_view token);
  void new_line();
  void before_value();

  std::string text_;
  std::size_t depth_ = 0;
  bool is_first_ = true;  // no element yet in the innermost object or array
  bool after_key_ = false;
};

}  // namespace hr
