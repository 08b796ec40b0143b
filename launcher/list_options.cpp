#include "list_options.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "mapping_words.hpp"
#include "option_table.hpp"

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
  auto all = nlohmann::ordered_json::array();
  for (const OptionSpec& option : option_table()) {
    nlohmann::ordered_json entry;
    const auto names = names_of(option);
    entry["names"] = names;
    entry["effect"] = text_of(option.effect);
    entry["values"] = values_of(option.arity);
    entry["value"] = option.values;
    entry["words"] = words_of(names.front());
    entry["help"] = option.help;
    all.push_back(std::move(entry));
  }
  std::printf("%s\n", all.dump(1).c_str());
}

}  // namespace hr::launcher
