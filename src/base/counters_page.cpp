#include "base/counters_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/counter_details.hpp"
#include "base/counter_parts.hpp"
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

// Descriptor of the page's file, which stays open; -1 if the parts are not in a file.
int file_of_parts = -1;

// Offsets in the file.
constexpr std::size_t kDetailsAt = sizeof(Page);
constexpr std::size_t kPartsAt = kDetailsAt + sizeof(Details);

std::size_t bytes_with(std::size_t number_of_parts) noexcept { return kPartsAt + number_of_parts * sizeof(Part); }

bool place(void* at, std::size_t bytes, int file, std::size_t from) noexcept {
  return ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(from)) !=
         MAP_FAILED;
}

// Reserves memory for the page and the parts in use now, so that a lack of it is an error here and not a bus error
// later. The file is large enough for all parts.
Status fill(int file, const std::string& name, std::size_t bytes, void** memory) {
  if (bytes_with(kParts) > largest_file()) return refused("size", name, EFBIG);
  if (::ftruncate(file, static_cast<off_t>(bytes_with(kParts))) != 0) return refused("size", name, errno);
  if (const int code = allocate(file, 0, bytes); code != 0) return refused("reserve", name, code);
  *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return *memory != MAP_FAILED ? kOk : refused("map", name, errno);
}

// Copies the counts so far to the new memory, which then replaces the old.
Status replace(int file, const std::string& name, const std::string& text) {
  const std::size_t used = detail::parts_used.load(std::memory_order_relaxed);
  void* memory = nullptr;
  HR_TRY(fill(file, name, bytes_with(used), &memory));
  Page& made = *static_cast<Page*>(memory);
  std::memcpy(&made, &page, offsetof(Page, text));
  std::memcpy(made.text, text.data(), text.size());
  std::memcpy(made.head.magic, kMagic, sizeof made.head.magic);
  made.head.state = static_cast<std::uint32_t>(State::kRunning);
  made.head.bytes = bytes_with(used);
  made.head.text_at = offsetof(Page, text);
  made.head.text_bytes = text.size();
  made.head.begun = since_1970();
  std::memcpy(static_cast<std::byte*>(memory) + kDetailsAt, &details, sizeof(Details));
  std::memcpy(static_cast<std::byte*>(memory) + kPartsAt, &parts, used * sizeof(Part));
  const bool placed = place(&parts, sizeof(Parts), file, kPartsAt) &&
                      place(&details, sizeof(Details), file, kDetailsAt) && place(&page, sizeof(Page), file, 0);
  const int reason = errno;
  ::munmap(memory, bytes_with(used));
  if (!placed) return refused("map", name, reason);
  file_of_parts = file;
  std::atomic_ref<std::uint32_t>(page.head.version).store(kVersion, std::memory_order_release);
  return kOk;
}

}  // namespace

Status publish(const About& about, int* file) {
  name_durations(about.places);
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

bool show_part(std::size_t index) noexcept {
  if (file_of_parts < 0) return true;
  const int code = allocate(file_of_parts, bytes_with(index), sizeof(Part));
  if (code != 0) return false;
  std::atomic_ref<Value>(page.head.bytes).store(bytes_with(index + 1), std::memory_order_release);
  return true;
}

void note_finalized() noexcept {
  page.head.ended = since_1970();
  page.head.state = static_cast<std::uint32_t>(State::kFinalized);
}

}  // namespace hr::counters
