// Stand-in for libFuzzer: inputs from a corpus, mutated at random, for some seconds.
//
//   TARGET [--seconds N] [--seed S] DIRECTORY    each file of the corpus unchanged, then mutated ones
//   TARGET FILE                                  one input, to repeat a finding
//
// An input that crashes, fails a check or takes longer than ten seconds is kept as <target>-found; the signal then ends
// the process.
#include "driver.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Input = std::vector<std::uint8_t>;
constexpr std::size_t kLongest = 4096;
constexpr unsigned kSlow = 10;       // time limit per input, in seconds of processor time
constexpr unsigned kStanding = 120;  // time limit per input, in seconds of wall-clock time

Input current;
char found_name[4096];

// Called from a signal handler.
void keep_input() {
  const int file = ::open(found_name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return;
  if (::write(file, current.data(), current.size()) >= 0)
    ::dprintf(hr::fuzz::report, "fuzz: input kept in %s\n", found_name);
  ::close(file);
}

void crashed(int number) {
  keep_input();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void watch(const std::filesystem::path& program) {
  const auto kept = std::filesystem::current_path() / (program.filename().string() + "-found");
  std::snprintf(found_name, sizeof found_name, "%s", kept.c_str());
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF}) ::signal(number, crashed);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_input);
}

void run_one(Input input) {
  current = std::move(input);
  const itimerval limit{{}, {kSlow, 0}};
  const itimerval none{};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  ::alarm(kStanding);
  LLVMFuzzerTestOneInput(current.data(), current.size());
  ::alarm(0);
  ::setitimer(ITIMER_PROF, &none, nullptr);
}

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  Mutator(std::vector<Input> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {
    for (const Input& each : corpus_) take_words(each);
  }

  Input next() {
    Input input = corpus_.empty() ? Input() : corpus_[below(corpus_.size())];
    const std::size_t changes = below(8) + 1;
    for (std::size_t i = 0; i < changes; ++i) change(&input);
    if (input.size() > kLongest) input.resize(kLongest);
    return input;
  }

 private:
  std::size_t below(std::size_t most) { return most == 0 ? 0 : random_() % most; }

  // Collects the words between blanks and punctuation in the corpus, to insert them elsewhere.
  void take_words(const Input& input) {
    Input word;
    for (const std::uint8_t byte : input) {
      if (std::isalnum(byte) != 0 || byte == '_' || byte == '-') {
        word.push_back(byte);
      } else if (!word.empty()) {
        words_.push_back(std::move(word));
        word.clear();
      }
    }
    if (!word.empty()) words_.push_back(std::move(word));
  }

  void insert(Input* input, const Input& what) {
    input->insert(input->begin() + static_cast<std::ptrdiff_t>(below(input->size() + 1)), what.begin(), what.end());
  }

  void change(Input* input) {
    static const std::vector<std::string> kNumbers = {
        "0",    "-1", "1", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "18446744073709551616",
        "1e999"};
    const std::size_t at = below(input->size());
    const auto place = input->begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(8)) {
      case 0:
        if (!input->empty()) (*input)[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        if (!input->empty()) (*input)[at] = static_cast<std::uint8_t>(below(256));
        break;
      case 2:
        insert(input, {static_cast<std::uint8_t>(below(256))});
        break;
      case 3:
        if (!input->empty()) input->erase(place, place + static_cast<std::ptrdiff_t>(1 + below(input->size() - at)));
        break;
      case 4:
        if (!input->empty()) {
          const Input piece(place, place + static_cast<std::ptrdiff_t>(1 + below(input->size() - at)));
          insert(input, piece);
        }
        break;
      case 5:
        if (!words_.empty()) insert(input, words_[below(words_.size())]);
        break;
      case 6: {
        const std::string& number = kNumbers[below(kNumbers.size())];
        insert(input, Input(number.begin(), number.end()));
        break;
      }
      default: {  // the start of one input, and the end of another
        if (corpus_.empty()) break;
        const Input& other = corpus_[below(corpus_.size())];
        input->resize(at);
        const auto from = other.begin() + static_cast<std::ptrdiff_t>(below(other.size()));
        input->insert(input->end(), from, other.end());
      }
    }
  }

  std::vector<Input> corpus_, words_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  double seconds = 5;
  std::uint64_t seed = std::random_device()();
  std::filesystem::path from;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      from = std::filesystem::absolute(word);
    }
  }
  watch(argv[0]);
  if (from.empty() || !std::filesystem::exists(from)) {
    std::fprintf(stderr, "usage: %s [--seconds N] [--seed S] DIRECTORY | FILE\n", argv[0]);
    return 2;
  }
  if (!std::filesystem::is_directory(from)) {
    run_one(read(from));
    return 0;
  }
  ::dprintf(hr::fuzz::report, "--seed %llu\n", static_cast<unsigned long long>(seed));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(from)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const auto& file : files) corpus.push_back(read(file));
  for (const Input& input : corpus) run_one(input);
  Mutator mutator(std::move(corpus), seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) run_one(mutator.next());
  ::dprintf(hr::fuzz::report, "%ld inputs\n", runs);
  return 0;
}
