#include "base/json_writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace hr {
namespace {

TEST(JsonWriter, writes_values_of_each_kind_in_order) {
  JsonWriter json;
  json.begin_object().member("text", "a").member("number", -3).member("is", true).key("none").null();
  json.member("largest", std::numeric_limits<std::uint64_t>::max());
  json.member("list", std::vector<int>{1, 2}).end_object();
  EXPECT_EQ(json.text(),
            "{\n \"text\": \"a\",\n \"number\": -3,\n \"is\": true,\n \"none\": null,\n"
            " \"largest\": 18446744073709551615,\n \"list\": [\n  1,\n  2\n ]\n}");
}

TEST(JsonWriter, nests_arrays_and_objects) {
  JsonWriter json;
  json.begin_array().begin_object().end_object().begin_array().end_array().begin_object();
  json.key("in").begin_object().member("x", 1).end_object().end_object().end_array();
  EXPECT_EQ(json.text(), "[\n {},\n [],\n {\n  \"in\": {\n   \"x\": 1\n  }\n }\n]");
}

TEST(JsonWriter, escapes_quotes_controls_and_characters_outside_ascii) {
  EXPECT_EQ(json_quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_quoted(std::string_view("\0\n\x7f", 3)), R"("\u0000\u000a\u007f")");
  EXPECT_EQ(json_quoted("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"), R"("\u00fc \u20ac \ud83d\ude00")");
}

TEST(JsonWriter, replaces_bytes_that_are_not_utf8) {
  EXPECT_EQ(json_quoted("\xff"), R"("\ufffd")");
  EXPECT_EQ(json_quoted("\xc3"), R"("\ufffd")");                      // cut short
  EXPECT_EQ(json_quoted("\xc0\xaf"), R"("\ufffd\ufffd")");            // longer than needed
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // half of a pair
  EXPECT_EQ(json_quoted("\xf9\x88\x80\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd\ufffd")");
}

}  // namespace
}  // namespace hr
