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
#include "coll/state.hpp"

namespace hr::coll::tuning {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kPiece = 900;  // characters that every launcher takes as a value
constexpr const char* kPieces = "headrace-tuning";

std::string key_of(std::size_t piece) { return std::string(kPieces) + "-" + std::to_string(piece); }

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

Status put_rows(const std::vector<SelectionRow>& rows) {
  const std::string text = encode(rows);
  std::size_t pieces = 0;
  for (std::size_t from = 0; from < text.size(); from += kPiece) {
    HR_TRY(boot::put(key_of(pieces++), std::string_view(text).substr(from, kPiece)));
  }
  const std::string count = std::to_string(pieces);
  HR_TRY(boot::put(kPieces, count));  // for other nodes; last: where it is missing there are no rows
  boot::tell(kPieces, count);
  return kOk;
}

Status get_rows(std::vector<SelectionRow>* rows) {
  std::string word;
  HR_TRY(boot::told(kPieces, &word));
  if (word.empty() && !boot::get(kPieces, &word).ok()) {
    take_detail();
    return kOk;
  }
  std::size_t pieces = 0;
  std::from_chars(word.data(), word.data() + word.size(), pieces);
  std::string text;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    HR_TRY(boot::get(key_of(piece), &word));
    text += word;
  }
  return decode(text, rows);
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

void share() {
  state().tuned_rows.clear();
  const boot::Identity& identity = boot::identity();
  if (identity.rank != 0) return;
  boot::tell(kPieces, "0");
  File file = read();
  if (!file.found) return;
  if (file.problem.empty() && identity.size > 1 && !put_rows(file.rows).ok()) file.problem = take_detail();
  if (!file.problem.empty()) {
    log::write(log::Level::kError, "tuning file %s: %s. It is ignored (HEADRACE_TUNING_FILE=off: none is looked for)",
               file.path.c_str(), file.problem.c_str());
    return;
  }
  state().tuned_rows = std::move(file.rows);
  log::write(log::Level::kDecision, "tuning file %s: %zu rows", file.path.c_str(), state().tuned_rows.size());
}

std::vector<SelectionRow> job_rows() {
  const boot::Identity& identity = boot::identity();
  if (identity.rank == 0) return state().tuned_rows;
  std::vector<SelectionRow> rows;
  if (!get_rows(&rows).ok()) {
    // Process 0 uses them: going on without would be worse than the end.
    boot::abort(1, "the rows of the tuning file cannot be had: " + take_detail());
  }
  return rows;
}

std::string encode(const std::vector<SelectionRow>& rows) {
  std::string text;
  for (const SelectionRow& row : rows) {
    text += std::string(name(row.operation)) + "." + std::to_string(row.max_bytes) + "." +
            std::to_string(row.max_ranks) + "." + std::to_string(static_cast<int>(row.memory)) + "." +
            std::to_string(static_cast<int>(row.crowded)) + "." + std::string(row.algorithm) + ",";
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
    row.crowded = static_cast<SelectionRow::Crowded>(number(2));
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
