#include "check/watch.hpp"

#include <dlfcn.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "check/state.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

constexpr std::size_t kRegisters = 4;
constexpr std::size_t kForWindow = 2;
// Maximum number of traps, each of which slows the program down.
constexpr unsigned kMostTraps = 20000;
constexpr std::size_t kMostHits = 64;
// Number of buffers that are always watched; of later ones, one in kOneOf is watched.
constexpr unsigned kAlways = 1000;
constexpr unsigned kOneOf = 16;

enum class Sees : std::uint8_t { kNothing, kUses, kStores };

struct Register {
  int file = -1;
  Sees sees = Sees::kNothing;
  std::uint32_t context = 0;
  const void* request = nullptr;
  std::uintptr_t address = 0;
};

// --- state of the signal handler ---
struct Hit {
  const void* instruction;
  std::uint64_t place;  // index of the register
};
Hit hits[kMostHits];
std::atomic<unsigned> hit_count{0};
std::atomic<unsigned> traps{0};
thread_local bool paused = false;

struct Watch final : FileState {
  Register registers[kRegisters];
  bool has_handler = false;
  bool impossible = false;
  unsigned buffers = 0;  // buffers so far

  ~Watch() override {
    for (const Register& each : registers) {
      if (each.file >= 0) ::close(each.file);
    }
    if (has_handler) ::signal(SIGTRAP, SIG_DFL);
  }
};

#if defined(__x86_64__) && defined(PERF_ATTR_SIZE_VER7)
constexpr int kTrapPerf = 6;  // TRAP_PERF, which old headers lack

void on_trap(int /*signal*/, siginfo_t* information, void* context) {
  if (information->si_code != kTrapPerf) {
    ::signal(SIGTRAP, SIG_DFL);
    ::raise(SIGTRAP);
    return;
  }
  traps.fetch_add(1, std::memory_order_relaxed);
  if (paused) return;
  std::uint64_t place = 0;  // si_perf_data, which follows si_addr
  std::memcpy(&place, reinterpret_cast<const std::byte*>(information) + offsetof(siginfo_t, si_addr) + sizeof(void*),
              sizeof place);
  const auto* const instruction =
      reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  const unsigned count = std::min<unsigned>(hit_count.load(std::memory_order_relaxed), kMostHits);
  for (unsigned i = 0; i < count; ++i) {
    if (hits[i].instruction == instruction && hits[i].place == place) return;
  }
  if (count == kMostHits) return;
  hits[count] = {instruction, place};
  hit_count.store(count + 1, std::memory_order_release);
}

perf_event_attr describe(const Register& which, std::uint64_t place) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = which.sees == Sees::kStores ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  attributes.bp_addr = which.address;
  attributes.bp_len = HW_BREAKPOINT_LEN_1;
  attributes.sample_period = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.remove_on_exec = 1;
  attributes.sigtrap = 1;
  attributes.sig_data = place;
  return attributes;
}

bool is_debugged() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return false;
  char line[256];
  int tracer = 0;
  while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "TracerPid: %d", &tracer) != 1) {
  }
  std::fclose(file);
  return tracer != 0;
}

bool install_handler(Watch& watch) {
  if (watch.has_handler || watch.impossible) return watch.has_handler;
  struct sigaction before{};
  const bool free = ::sigaction(SIGTRAP, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
  watch.impossible = true;
  if (!free || is_debugged()) return false;
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  watch.has_handler = ::sigaction(SIGTRAP, &action, nullptr) == 0;
  watch.impossible = !watch.has_handler;
  return watch.has_handler;
}

void aim(Watch& watch, std::size_t place) {
  Register& which = watch.registers[place];
  if (!install_handler(watch) || traps.load(std::memory_order_relaxed) > kMostTraps) {
    which.sees = Sees::kNothing;
    return;
  }
  perf_event_attr attributes = describe(which, place);
  const bool moved = which.file >= 0 && ::ioctl(which.file, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes) == 0;
  if (moved) return;
  if (which.file >= 0) ::close(which.file);
  which.file = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (which.file >= 0) return;
  which.sees = Sees::kNothing;
  watch.impossible = true;
}

void release(Register& which) {
  if (which.file >= 0) ::ioctl(which.file, PERF_EVENT_IOC_DISABLE, 0);
  which = {which.file};
}
#else
void aim(Watch& watch, std::size_t place) { watch.registers[place].sees = Sees::kNothing; }
void release(Register& which) { which = {}; }
#endif

// True for instructions of this library and of the C library, whose string functions read whole words around the
// requested bytes.
bool is_in_c_library(const void* instruction) {
  Dl_info information{};
  if (::dladdr(instruction, &information) == 0 || information.dli_fname == nullptr) return false;
  const std::string_view name(information.dli_fname);
  return name.find("/libc.so") != std::string_view::npos || name.find("/libc-") != std::string_view::npos ||
         name.find("/ld-") != std::string_view::npos || name.find("libmpi_abi") != std::string_view::npos;
}

}  // namespace

void watch_window(rma::Window& window) {
  auto& watch = own<Watch>();
  const bool plain = window.own().base != nullptr && window.own().bytes > 0 && window.where_.is_host();
  if (!plain || watch.impossible || watch.registers[0].sees != Sees::kNothing) return;
  for (std::size_t place = 0; place < kForWindow; ++place) {
    Register& which = watch.registers[place];
    if (which.request != nullptr) release(which);
    which.sees = place == 0 ? Sees::kUses : Sees::kStores;
    which.context = window.context();
    which.address = reinterpret_cast<std::uintptr_t>(window.own().base);
    aim(watch, place);
  }
}

void watch_buffer(const void* request, const Range& memory) {
  auto& watch = own<Watch>();
  if (watch.impossible || (++watch.buffers > kAlways && watch.buffers % kOneOf != 0)) return;
  for (std::size_t place = kForWindow; place < kRegisters; ++place) {
    Register& which = watch.registers[place];
    if (which.sees != Sees::kNothing) continue;
    which.sees = Sees::kUses;
    which.request = request;
    which.address = memory.begin;
    return aim(watch, place);
  }
}

void unwatch_window(std::uint32_t context) {
  for (Register& each : own<Watch>().registers) {
    if (each.sees != Sees::kNothing && each.request == nullptr && each.context == context) release(each);
  }
}

void unwatch_buffer(const void* request) {
  for (Register& each : own<Watch>().registers) {
    if (each.sees != Sees::kNothing && each.request == request) release(each);
  }
}

std::vector<Seen> take_seen() {
  std::vector<Seen> seen;
  const unsigned count = std::min<unsigned>(hit_count.load(std::memory_order_acquire), kMostHits);
  if (count == 0) return seen;
  const auto& registers = own<Watch>().registers;
  for (unsigned i = 0; i < count; ++i) {
    if (hits[i].place >= kRegisters) continue;
    const Register& which = registers[hits[i].place];
    const bool stored = which.sees == Sees::kStores;
    if (which.sees == Sees::kNothing || (!stored && is_in_c_library(hits[i].instruction))) continue;
    seen.push_back({which.context, which.request, hits[i].instruction, {which.address, which.address + 1}, stored});
  }
  hit_count.store(0, std::memory_order_release);
  return seen;
}

void pause_watching() noexcept { paused = true; }
void resume_watching() noexcept { paused = false; }

}  // namespace hr::check
