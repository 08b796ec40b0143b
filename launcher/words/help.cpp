#include "words/help.hpp"

#include <cstdio>
#include <string>

#include "words/option_table.hpp"

namespace hr::launcher {
namespace {

constexpr std::size_t kColumn = 38;
constexpr std::size_t kWidth = 118;

constexpr const char* kExamples =
    "Examples:\n"
    "  mpiexec -n 4 ./program --its-option value\n"
    "  mpiexec -n 1 ./server : -n 3 ./client        two programs in one job\n"
    "  mpiexec -n 8 --hosts a,b:4 ./program         on two hosts, by ssh\n"
    "  mpiexec -n 4 -l --timeout 60 ./program       label the output, end the job after a minute\n"
    "\n"
    "Every option may have one dash or two. Standard input is passed to rank 0. The exit code is that of the first "
    "rank\n"
    "that failed, 128 + N for signal N, 124 after --timeout, 127 for a program that cannot be started, 2 for a "
    "command\n"
    "line that is not understood.\n";

// Returns a string such as "-n,--np N"; a single letter has one dash, as usual.
std::string written(const OptionSpec& word, const char* between = ",") {
  std::string text;
  for (const std::string_view name : names_of(word)) {
    text += (text.empty() ? "" : between) + std::string(name.size() == 1 ? "-" : "--") + std::string(name);
  }
  if (!word.values.empty()) text += " " + std::string(word.values);
  return text;
}

// Prints text in lines that start at `column`. `at`: position of the cursor.
void print_wrapped(std::string_view text, std::size_t at, std::size_t column) {
  if (at + 1 > column) {
    std::printf("\n");
    at = 0;
  }
  for (bool first = true; !text.empty(); first = false) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!first && at + 1 + word.size() > kWidth) {
      std::printf("\n");
      at = 0;
      first = true;
    }
    if (first) {
      std::printf("%*s", static_cast<int>(column - at), "");
      at = column;
    } else {
      std::printf(" ");
      ++at;
    }
    std::printf("%.*s", static_cast<int>(word.size()), word.data());
    at += word.size();
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  std::printf("\n");
}

void print_names(const char* title, OptionEffect effect, bool without_help) {
  std::string all;
  for (const OptionSpec& word : option_table()) {
    if (word.effect != effect || (without_help && !word.help.empty())) continue;
    all += (all.empty() ? "" : "; ") + written(word, ", ");  // with spaces, at which lines can be broken
  }
  std::printf("\n%s\n", title);
  print_wrapped(all, 0, 2);
}

}  // namespace

void print_help() {
  std::printf("Starts an MPI program on this host and others.\n\n%s\n", kUsage);
  for (const OptionSpec& word : option_table()) {
    if (word.help.empty() || word.effect != OptionEffect::kApplies) continue;
    const std::string names = "  " + written(word);
    std::printf("%s", names.c_str());
    print_wrapped(word.help, names.size(), kColumn);
  }
  print_names("From scripts for other launchers, with the meaning that they have there:", OptionEffect::kApplies, true);
  print_names("From there, requesting what mpiexec always does:", OptionEffect::kAlreadyTrue, false);
  print_names("From there, without effect here (a note reports that; -q suppresses it):", OptionEffect::kIgnored,
              false);
  print_names("From there, refused with advice on what to use instead:", OptionEffect::kRefused, false);
  std::printf("\n%s", kExamples);
}

}  // namespace hr::launcher
