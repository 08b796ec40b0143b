#include "coll/select/tuning.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "coll/select/tuning_file.hpp"

namespace hr::coll::tuning {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

std::string system_reason(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

// Without waiting for a writer, should it be a pipe. Returns why it failed, "" on success.
std::string read_text(int descriptor, std::string* text) {
  struct stat state{};
  if (::fstat(descriptor, &state) != 0) return system_reason("cannot be looked at");
  if (!S_ISREG(state.st_mode)) return "is not a file";
  if (static_cast<std::size_t>(state.st_size) > kLargestFile) return "is larger than 1 MiB";
  char chunk[4096];
  ssize_t count = 0;
  while ((count = ::read(descriptor, chunk, sizeof chunk)) > 0 && text->size() <= kLargestFile) {
    text->append(chunk, static_cast<std::size_t>(count));
  }
  return count < 0 ? system_reason("cannot be read") : "";
}

}  // namespace

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
  const int descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  file.found = descriptor >= 0 || named || (errno != ENOENT && errno != ENOTDIR);
  if (descriptor < 0) {
    if (file.found) file.problem = system_reason("cannot be opened");
    return file;
  }
  std::string text;
  file.problem = read_text(descriptor, &text);
  ::close(descriptor);
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
    // Process 0 uses them: going on without would be worse than the end.
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
      return fail(Errc::kOther, "\"%.100s\" is no row of a tuning file", whole.c_str());
    }
    row.algorithm = algorithm.name();
    rows->push_back(row);
  }
  return kOk;
}

}  // namespace hr::coll::tuning
