#include "base/counters_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/counters.hpp"
#include "base/shared_file.hpp"

namespace hr::counters {
namespace {

Value since_1970() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<Value>(time.tv_sec) * 1'000'000'000 + static_cast<Value>(time.tv_nsec);
}

Status refused(const char* what, const std::string& name, int code) {
  return fail(Errc::kOther, "could not %s %s for counters: %s. They are kept, but no other process can read them", what,
              name.c_str(), std::strerror(code));
}

// Reserves all of the memory now, so that a lack of it is an error here and not a bus error later.
Status fill(int file, const std::string& name, void** memory) {
  if (sizeof(Page) > largest_file()) return refused("size", name, EFBIG);
  if (::ftruncate(file, sizeof(Page)) != 0) return refused("size", name, errno);
  if (const int code = ::posix_fallocate(file, 0, sizeof(Page)); code != 0) return refused("reserve", name, code);
  *memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return *memory != MAP_FAILED ? kOk : refused("map", name, errno);
}

// Copies the counts so far to the new memory, which then replaces the old.
Status replace(int file, const std::string& name, const std::string& text) {
  void* memory = nullptr;
  HR_TRY(fill(file, name, &memory));
  Page& made = *static_cast<Page*>(memory);
  std::memcpy(&made, &page, offsetof(Page, text));
  std::memcpy(made.text, text.data(), text.size());
  std::memcpy(made.head.magic, kMagic, sizeof made.head.magic);
  made.head.state = static_cast<std::uint32_t>(State::kRunning);
  made.head.bytes = sizeof(Page);
  made.head.text_at = offsetof(Page, text);
  made.head.text_bytes = text.size();
  made.head.begun = since_1970();
  const void* placed = ::mmap(&page, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  const int reason = errno;
  ::munmap(memory, sizeof(Page));
  if (placed == MAP_FAILED) return refused("map", name, reason);
  std::atomic_ref<std::uint32_t>(page.head.version).store(kVersion, std::memory_order_release);
  return kOk;
}

}  // namespace

Status publish(const About& about, int* file) {
  const std::string text = describe(about);
  if (text.size() > kTextBytes)
    return fail(Errc::kOther, "counters: their description has %zu bytes, there is room for %zu", text.size(),
                kTextBytes);
  const std::string name = "headrace." + about.job + ".counters." + std::to_string(about.rank);
  *file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (*file < 0) return refused("make", name, errno);
  const Status placed = replace(*file, name, text);
  if (!placed.ok()) ::close(*file);
  return placed;
}

void note_finalized() noexcept {
  page.head.ended = since_1970();
  page.head.state = static_cast<std::uint32_t>(State::kFinalized);
}

}  // namespace hr::counters
