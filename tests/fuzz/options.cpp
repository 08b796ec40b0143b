// The command line of mpiexec, and the files that it may name. A line is a word; the text after an empty line is the
// content of a file, whose name replaces FILE.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "driver.hpp"
#include "words/command_line.hpp"
#include "words/config_file.hpp"
#include "words/host_list.hpp"

namespace {

using hr::fuzz::check;

// Isolates the target: messages about invalid lines would only flood the output; and no file of this machine can be
// written, since the working directory is a deleted one.
bool alone() {
  char folder[] = "/tmp/headrace-fuzz-XXXXXX";
  if (::mkdtemp(folder) == nullptr || ::chdir(folder) != 0 || ::rmdir(folder) != 0) return false;
  const int nowhere = ::open("/dev/null", O_RDWR);
  return ::dup2(nowhere, 0) >= 0 &&
         (::getenv("FUZZ_LOUD") != nullptr || (::dup2(nowhere, 1) >= 0 && ::dup2(nowhere, 2) >= 0));
}

class File {
 public:
  explicit File(std::string_view content) : descriptor_(::memfd_create("fuzz", 0)) {
    check(::write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "memfd");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// A word of random bytes must not name a file on this machine.
bool harmless(std::string_view word) { return word.find('/') == std::string_view::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hr::launcher;
  static const bool prepared = alone();
  check(prepared, "no directory of its own");
  std::string_view rest = hr::fuzz::text_of(data, size);
  std::vector<std::string> words{"mpiexec"};
  while (!rest.empty() && rest[0] != '\n') {
    const auto end = rest.find('\n');
    const std::string_view word = rest.substr(0, end);
    if (harmless(word)) words.emplace_back(word.substr(0, word.find('\0')));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  const File file(rest);
  for (std::string& word : words) {
    if (const auto at = word.find("FILE"); at != std::string::npos) word.replace(at, 4, file.path());
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int exit_code = 0;
  const auto options = parse_options(static_cast<int>(words.size()), arguments.data(), &exit_code);
  if (!options) {
    check(exit_code == 0 || exit_code == kUsageExit, "an exit code that is not said");
  } else {
    check(!options->programs.empty(), "nothing to run, and no exit code");
    for (const Program& program : options->programs) {
      check(!program.arguments.empty(), "a program without a name");
      check(program.ranks >= 0 && program.ranks <= 65536, "a number of ranks that cannot be");
    }
  }
  std::vector<std::vector<std::string>> parts;
  std::vector<HostSlots> hosts;
  if (!read_config_file(file.path(), &parts).ok()) (void)hr::take_detail();
  if (!read_host_file("--hostfile", file.path(), &hosts).ok()) (void)hr::take_detail();
  return 0;
}
