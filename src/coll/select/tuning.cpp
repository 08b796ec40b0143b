#include "coll/select/tuning.hpp"

#include <algorithm>
#include <charconv>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/own_files.hpp"
#include "boot/boot.hpp"
#include "coll/select/tuning_file.hpp"

namespace hr::coll::tuning {

File read() {
  File file;
  const std::string& knob = knobs().tuning_file;
  if (knob.empty() || knob == "off") return file;
  const bool named = knob != "auto";
  file.path = knob;
  if (!named) {
    const std::string directory = config_directory();
    file.path = directory.empty() ? directory : directory + "/headrace/tuning.json";
    if (directory.empty()) return file;
  }
  std::string text;
  const Status status = read_file(file.path, kLargestTextFile, &text);
  if (!status.ok()) file.problem = take_detail();
  file.found = named || status.errc() != Errc::kNoSuchFile;
  if (!file.found) file.problem.clear();
  if (!file.found) return file;
  if (file.problem.empty() && !parse(text, this_machine(), &file.rows).ok()) file.problem = take_detail();
  return file;
}

std::string rows_for_job() {
  const File file = read();
  if (!file.found) return {};
  if (!file.problem.empty()) {
    log::write(log::Level::kError, "tuning file %s: %s. It is ignored (HEADRACE_TUNING_FILE=off: none is looked for)",
               file.path.c_str(), file.problem.c_str());
    return {};
  }
  log::write(log::Level::kDecision, "tuning file %s: %zu rows", file.path.c_str(), file.rows.size());
  return encode(file.rows);
}

std::vector<SelectionRow> job_rows() {
  std::vector<SelectionRow> rows;
  if (!decode(boot::setting(kSetting.name), &rows).ok()) {
    // Process 0 uses these rows: continuing without them would be worse than ending the job.
    boot::abort(1, "the rows of the tuning file cannot be used: " + take_detail());
  }
  return rows;
}

std::string encode(const std::vector<SelectionRow>& rows) {
  std::string text;
  for (const SelectionRow& row : rows) {
    text += std::string(name(row.operation)) + "." + std::to_string(row.max_bytes) + "." +
            std::to_string(row.max_ranks) + "." + std::to_string(static_cast<int>(row.memory)) + "." +
            std::to_string(static_cast<int>(row.oversubscribed)) + "." + std::to_string(row.max_hosts) + "." +
            std::to_string(row.max_ranks_per_host) + "." + std::string(row.algorithm) + ",";
  }
  return text;
}

Status decode(std::string_view text, std::vector<SelectionRow>* rows) {
  rows->clear();
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find(','));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string whole(line);
    bool good = true;
    const auto word = [&] {
      const std::string_view first = line.substr(0, line.find('.'));
      line.remove_prefix(std::min(first.size() + 1, line.size()));
      return first;
    };
    const auto number = [&](std::size_t most) {
      const std::string_view digits = word();
      std::size_t value = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      good = good && error == std::errc() && end == digits.data() + digits.size() && value <= most;
      return value;
    };
    SelectionRow row{};
    const std::optional<Operation> operation = find_operation(word());
    row.operation = operation.value_or(Operation::kBarrier);
    row.max_bytes = number(static_cast<std::size_t>(-1));
    row.max_ranks = static_cast<int>(number(0x7fffffff));
    row.memory = static_cast<SelectionRow::Memory>(number(2));
    row.oversubscribed = static_cast<SelectionRow::Oversubscribed>(number(2));
    row.max_hosts = static_cast<int>(number(SelectionRow::kAnyNumber));
    row.max_ranks_per_host = static_cast<int>(number(SelectionRow::kAnyNumber));
    const Named algorithm = named(row.operation, line);
    if (!operation || !good || !algorithm.known) {
      return fail(Errc::kOther, "\"%.100s\" is not a row of a tuning file", whole.c_str());
    }
    row.algorithm = algorithm.name();
    rows->push_back(row);
  }
  return kOk;
}

}  // namespace hr::coll::tuning
