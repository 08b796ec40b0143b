#include "words/list_options.hpp"

#include <cstdio>
#include <string>

#include "base/json_writer.hpp"
#include "words/mapping_words.hpp"
#include "words/option_table.hpp"

namespace hr::launcher {
namespace {

const char* text_of(OptionEffect effect) {
  switch (effect) {
    case OptionEffect::kApplies:
      return "applies";
    case OptionEffect::kAlreadyTrue:
      return "already true";
    case OptionEffect::kIgnored:
      return "ignored";
    case OptionEffect::kRefused:
      break;
  }
  return "refused";
}

int values_of(Arity arity) {
  if (arity == Arity::kNoValue) return 0;
  return arity == Arity::kOne ? 1 : 2;
}

}  // namespace

void list_options() {
  JsonWriter json;
  json.begin_array();
  for (const OptionSpec& option : option_table()) {
    const auto names = names_of(option);
    json.begin_object().member("names", names).member("effect", text_of(option.effect));
    json.member("values", values_of(option.arity)).member("value", option.values);
    json.member("words", words_of(names.front())).member("help", option.help).end_object();
  }
  std::printf("%s\n", json.end_array().text().c_str());
}

}  // namespace hr::launcher
