#include "coll/select/tuning_file.hpp"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

namespace hr::coll::tuning {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kFormat = 1;
constexpr int kDeepest = 16;

// Returns a value as written in the file, truncated if long, for a message.
std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

// An object of the file, whose keys are read one at a time. `where`: its name, such as "row 3".
class Section {
 public:
  Section(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  // Errors: MPI_ERR_ARG if it is not an object, or has a key that is not listed.
  [[nodiscard]] Status has_only(std::initializer_list<std::string_view> keys) const {
    if (!object_.is_object()) return fail(Errc::kArg, "%s is not an object", where_.c_str());
    for (const auto& [key, value] : object_.items()) {
      bool known = false;
      for (const std::string_view each : keys) known = known || each == key;
      if (!known) return wrong(Json(key), "is not a valid key here");
    }
    return kOk;
  }
  [[nodiscard]] Status text(const char* key, std::string* value) const {
    return take(key, value, &Json::is_string, "a string");
  }
  [[nodiscard]] Status number(const char* key, std::uint64_t* value) const {
    return take(key, value, &Json::is_number_unsigned, "an integer of at least 0");
  }
  [[nodiscard]] Status flag(const char* key, bool* value) const {
    return take(key, value, &Json::is_boolean, "true or false");
  }
  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  [[nodiscard]] const Json& at(const char* key) const { return *object_.find(key); }
  [[nodiscard]] Status wrong(const Json& value, const std::string& why) const {
    return fail(Errc::kArg, "%s: %s %s", where_.c_str(), shown(value).c_str(), why.c_str());
  }
  [[nodiscard]] Status missing(const char* key) const {
    return fail(Errc::kArg, "%s: there is no \"%s\"", where_.c_str(), key);
  }

 private:
  template <class T>
  [[nodiscard]] Status take(const char* key, T* value, bool (Json::*is)() const noexcept, const char* wanted) const {
    if (!has(key)) return missing(key);
    const Json& found = at(key);
    if (!(found.*is)()) return wrong(found, std::string("is not a value of \"") + key + "\", which must be " + wanted);
    *value = found.get<T>();
    return kOk;
  }

  const Json& object_;
  std::string where_;
};

// Reads a maximum; if the key is missing, there is no limit.
Status most_of(const Section& section, const char* key, const char* of_what, int* most) {
  std::uint64_t number = std::numeric_limits<int>::max();
  if (section.has(key)) HR_TRY(section.number(key, &number));
  if (number > std::numeric_limits<int>::max())
    return section.wrong(number, std::string(of_what) + " are more than there can be");
  *most = static_cast<int>(number);
  return kOk;
}

Status parse_row(const Section& section, SelectionRow* row) {
  HR_TRY(section.has_only({"operation", "max_bytes", "max_ranks", "max_hosts", "max_ranks_per_host", "memory",
                           "crowded", "oversubscribed", "algorithm", "why"}));
  std::string operation;
  std::string algorithm;
  HR_TRY(section.text("operation", &operation));
  HR_TRY(section.text("algorithm", &algorithm));
  const std::optional<Operation> known = find_operation(operation);
  if (!known) return section.wrong(operation, "is not an operation");
  row->operation = *known;
  const Named found = named(row->operation, algorithm);
  if (!found.known) return section.wrong(algorithm, std::string("is not an algorithm of ") + name(row->operation));
  row->algorithm = found.name();

  std::uint64_t bytes = std::numeric_limits<std::size_t>::max();
  if (section.has("max_bytes")) HR_TRY(section.number("max_bytes", &bytes));
  row->max_bytes = bytes;
  HR_TRY(most_of(section, "max_ranks", "ranks", &row->max_ranks));
  HR_TRY(most_of(section, "max_hosts", "hosts", &row->max_hosts));
  HR_TRY(most_of(section, "max_ranks_per_host", "ranks", &row->max_ranks_per_host));

  std::string why;  // for human readers; not used
  if (section.has("why")) HR_TRY(section.text("why", &why));
  if (section.has("memory")) {
    std::string memory;
    HR_TRY(section.text("memory", &memory));
    if (memory != "host" && memory != "device") return section.wrong(memory, "is neither \"host\" nor \"device\"");
    row->memory = memory == "host" ? SelectionRow::Memory::kHost : SelectionRow::Memory::kDevice;
  }
  // Files of earlier versions use the key "crowded".
  for (const char* const key : {"crowded", "oversubscribed"}) {
    if (!section.has(key)) continue;
    bool oversubscribed = false;
    HR_TRY(section.flag(key, &oversubscribed));
    row->oversubscribed = oversubscribed ? SelectionRow::Oversubscribed::kYes : SelectionRow::Oversubscribed::kNo;
  }
  return kOk;
}

Status parse_machine(const Section& section, Machine* machine) {
  HR_TRY(section.has_only({"cpu", "cpus", "gpus"}));
  std::uint64_t cpus = 0;
  HR_TRY(section.text("cpu", &machine->cpu));
  HR_TRY(section.number("cpus", &cpus));
  machine->cpus = cpus <= std::numeric_limits<int>::max() ? static_cast<int>(cpus) : -1;
  if (!section.has("gpus")) return section.missing("gpus");
  const Json& gpus = section.at("gpus");
  if (!gpus.is_array()) return section.wrong(gpus, "is not a list");
  for (const Json& gpu : gpus) {
    if (!gpu.is_string()) return section.wrong(gpu, "is not a GPU name");
    machine->gpus.push_back(gpu.get<std::string>());
  }
  return kOk;
}

Status parse_file(const Json& json, const Machine& machine, std::vector<SelectionRow>* rows) {
  const Section file(json, "the file");
  std::uint64_t format = 0;
  HR_TRY(file.has_only({"format", "version", "date", "command", "machine", "rows"}));
  HR_TRY(file.number("format", &format));
  if (format != kFormat) return file.wrong(format, "is a format that this version does not know");
  std::string text;
  HR_TRY(file.text("date", &text));
  HR_TRY(file.text("command", &text));
  HR_TRY(file.text("version", &text));
  if (text != version()) {
    return fail(Errc::kArg, "it was measured with version %.60s, this is %s; run `headrace tune` again", text.c_str(),
                version());
  }
  Machine measured;
  if (!file.has("machine")) return file.missing("machine");
  HR_TRY(parse_machine(Section(file.at("machine"), "\"machine\""), &measured));
  if (measured != machine) {
    return fail(Errc::kArg, "it is from another machine (%.200s; this is %.200s); run `headrace tune` here",
                describe(measured).c_str(), describe(machine).c_str());
  }
  if (!file.has("rows")) return file.missing("rows");
  const Json& list = file.at("rows");
  if (!list.is_array()) return file.wrong(list, "is not a list of rows");
  std::vector<SelectionRow> found;
  for (const Json& each : list) {
    found.emplace_back();
    HR_TRY(parse_row(Section(each, "row " + std::to_string(found.size())), &found.back()));
  }
  *rows = std::move(found);
  return kOk;
}

}  // namespace

Status parse(std::string_view text, const Machine& machine, std::vector<SelectionRow>* rows) {
  Json json;
  bool deep = false;  // nested too deeply for the recursion that reads the values
  const auto look = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kDeepest;
    return !deep;
  };
  try {
    json = Json::parse(text, look);
  } catch (const Json::exception& error) {  // the text is not JSON, or a number is out of range
    // Drops the part in brackets, as in "[json.exception.parse_error.101] parse error at line 3, column 5: ...".
    const std::string what = error.what();
    const auto bracket = what.find("] ");
    return fail(Errc::kArg, "%.300s", what.c_str() + (bracket == std::string::npos ? 0 : bracket + 2));
  }
  if (deep) return fail(Errc::kArg, "it is nested deeper than a tuning file is");
  return parse_file(json, machine, rows);
}

const char* version() noexcept { return HEADRACE_VERSION; }

}  // namespace hr::coll::tuning
