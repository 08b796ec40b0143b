#include "plan/spawn_request.hpp"

#include <map>
#include <utility>

#include "boot/key_values.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

constexpr std::string_view kNumber = "spawnssofar=";
constexpr std::string_view kPrograms = "totspawns=";
constexpr const char* kTooLong =
    "programs, arguments and info of one call have more than 4 MB; pass such data by a file or by messages";

constexpr const char* kEscaped = "escaped";  // sent only by Headrace's library

using Fields = std::map<std::string, std::string, std::less<>>;

void write_pairs(const std::vector<KeyValue>& pairs, Writer* writer) {
  writer->number(static_cast<std::int64_t>(pairs.size()));
  for (const auto& [key, value] : pairs) {
    writer->text(key);
    writer->text(value);
  }
}

std::vector<KeyValue> read_pairs(Reader* reader) {
  std::vector<KeyValue> pairs(reader->count(16));
  for (auto& [key, value] : pairs) {
    key = reader->text();
    value = reader->text();
  }
  return pairs;
}

Fields fields_of(const std::vector<std::string>& lines) {
  Fields fields;
  for (const std::string& line : lines) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) fields[line.substr(0, equals)] = line.substr(equals + 1);
  }
  if (!fields.contains(kEscaped)) return fields;
  for (auto& [name, value] : fields) {
    std::string plain;
    if (boot::unescape(value, &plain)) value = plain;
  }
  return fields;
}

std::string text_of(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found != fields.end() ? found->second : std::string();
}

// Returns a non-negative number; -1 for any other string.
int number_of(const Fields& fields, const std::string& name) {
  const std::string text = text_of(fields, name);
  int value = 0;
  if (text == "0") return 0;
  return read_number(text, &value) ? value : -1;
}

// Returns the number of items that the lines announce; -1 if the number is impossible.
int count_of(const Fields& fields, const std::string& name) {
  const int count = fields.contains(name) ? number_of(fields, name) : 0;
  return count <= static_cast<int>(fields.size()) ? count : -1;
}

std::vector<KeyValue> pairs_of(const Fields& fields, int count, const std::string& key, const std::string& value) {
  std::vector<KeyValue> pairs;
  for (int at = 0; at < count; ++at) {
    pairs.emplace_back(text_of(fields, key + std::to_string(at)), text_of(fields, value + std::to_string(at)));
  }
  return pairs;
}

}  // namespace

std::string encode(const SpawnRequest& request) {
  Writer writer;
  writer.number(static_cast<std::int64_t>(request.programs.size()));
  for (const SpawnRequest::Part& part : request.programs) {
    writer.number(part.ranks);
    writer.texts(part.arguments);
    write_pairs(part.info, &writer);
  }
  write_pairs(request.given, &writer);
  writer.number(request.reads_ends ? 1 : 0);
  return writer.take();
}

std::optional<SpawnRequest> decode_spawn(std::string_view bytes) {
  Reader reader(bytes);
  SpawnRequest request;
  request.programs.resize(reader.count(8));
  for (SpawnRequest::Part& part : request.programs) {
    part.ranks = static_cast<int>(reader.number(0, kMostRanks));
    part.arguments = reader.texts();
    part.info = read_pairs(&reader);
    if (part.arguments.empty()) return std::nullopt;
  }
  request.given = read_pairs(&reader);
  request.reads_ends = reader.number(0, 1) != 0;
  if (!reader.done()) return std::nullopt;
  return request;
}

void SpawnLines::add(std::string_view line) {
  // These lines show where the request ends, so they are kept even if it is too long.
  for (const auto& [name, value] : {std::pair(kNumber, &number_), std::pair(kPrograms, &programs_)}) {
    if (!line.starts_with(name)) continue;
    if (!read_number(line.substr(name.size()), value)) *value = 0;
    return;
  }
  bytes_ += line.size() + kSpawnLine;
  if (bytes_ <= kLongestSpawn) {
    lines_.emplace_back(line);
  } else {
    lines_ = {};
    request_ = {};
  }
}

std::optional<SpawnRequest> SpawnLines::end() {
  open_ = false;
  const Fields fields = fields_of(std::exchange(lines_, {}));
  SpawnRequest::Part part;
  part.ranks = number_of(fields, "nprocs");
  part.arguments.push_back(text_of(fields, "execname"));
  const int arguments = count_of(fields, "argcnt");
  for (int at = 1; at <= arguments; ++at) part.arguments.push_back(text_of(fields, "arg" + std::to_string(at)));
  const int infos = count_of(fields, "info_num");
  const int given = count_of(fields, "preput_num");
  part.info = pairs_of(fields, infos, "info_key_", "info_val_");
  good_ = good_ && part.ranks >= 0 && !part.arguments[0].empty() && arguments >= 0 && infos >= 0 && given >= 0;
  request_.reads_ends = fields.contains(kEscaped);
  if (request_.given.empty()) request_.given = pairs_of(fields, given, "preput_key_", "preput_val_");
  if (part.ranks > 0) request_.programs.push_back(std::move(part));
  if (std::exchange(number_, 0) < std::exchange(programs_, 0)) return std::nullopt;
  SpawnRequest whole = std::exchange(request_, {});
  const bool fits = std::exchange(bytes_, 0) <= kLongestSpawn;
  const bool good = std::exchange(good_, true) && fits;
  problem_ = !fits ? kTooLong : good ? "the request starts no process" : "the request is not understood";
  if (!good) whole.programs.clear();
  return whole;
}

}  // namespace hr::launcher
