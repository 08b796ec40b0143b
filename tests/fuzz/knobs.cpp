// The configuration file of knobs: any content. A process reads it once, so each input has a separate process.
#include "base/knobs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.hpp"

namespace {

using hr::fuzz::check;

void read_file(std::string_view content) {
  const int file = ::memfd_create("fuzz", 0);
  check(::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "memfd");
  ::setenv("HEADRACE_CONFIG_FILE", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  if (::getenv("FUZZ_LOUD") == nullptr) ::dup2(::open("/dev/null", O_WRONLY), 2);
  (void)hr::knobs();
  // After any content each knob has a valid value.
  for (const hr::KnobRecord& record : hr::knob_records()) {
    if (!hr::set_knob(record.name, hr::knob_text(record.name))) ::_exit(1);
  }
}

// Names and values without a file, in this process.
void set_each(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const auto equals = line.find('=');
    if (equals != std::string_view::npos) {
      const std::string_view name = line.substr(0, equals);
      if (hr::set_knob(name, line.substr(equals + 1))) {
        const std::string said = hr::knob_text(name);
        check(hr::set_knob(name, said) && hr::knob_text(name) == said, "a knob does not keep the text of its value");
      }
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hr::fuzz::text_of(data, size);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    read_file(text);
    ::_exit(0);
  }
  int status = 0;
  check(child > 0 && ::waitpid(child, &status, 0) == child, "fork");
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the file's reader ended with status " + std::to_string(status));
  set_each(text);
  return 0;
}
