#include "bind/device_check.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checks.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/node_flag.hpp"
#include "layout/view.hpp"
#include "mem/device.hpp"
#include "mem/device/program_state.hpp"
#include "mem/mem.hpp"
#include "mem/present_table.hpp"

namespace hr::bind::device_check {
namespace {

enum class Pitfall : std::uint8_t { kHostCopy, kOtherDevice, kBusyQueue };

// The current or last call of this thread.
struct CurrentCall {
  const char* function = nullptr;
  std::vector<Argument> arguments;
};
thread_local CurrentCall current;

// True on the first call for each mistake and function, so that each is reported once.
bool first_time(Pitfall pitfall) {
  static std::set<std::pair<Pitfall, std::string>> told;
  return told.emplace(pitfall, current.function).second;
}

bool is_buffer(const Argument& argument) {
  return argument.use == Argument::Use::kRead || argument.use == Argument::Use::kWritten;
}

// Returns the argument whose buffer a view describes; null for other views (later blocks, the library's staging
// memory).
const Argument* argument_of(const layout::View& view) {
  const auto found = std::ranges::find_if(current.arguments, [&](const Argument& argument) {
    return is_buffer(argument) && argument.address == view.address;
  });
  return found == current.arguments.end() ? nullptr : &*found;
}

// True for functions that create persistent operations, which name a buffer long before they use it.
bool only_names_buffers() {
  const std::string_view function(current.function);
  return function.ends_with("_init") || function.ends_with("_init_c");
}

int ranks_of_node() { return static_cast<int>(boot::processes().of_this_host().size()); }

// --- before the first call: MPI_Init after the first use of a device ---

void check_start() {
  const int device = mem::device::first_device_in_use();
  if (device < 0) return;
  log::write(
      log::Level::kError,
      "check device: MPI_Init: the program has already used %s device %d. Before MPI_Init a rank does not know its "
      "place on the node, so all ranks take the same device. Call MPI_Init before the first offload region or %s call, "
      "then choose the device by the rank on the node (docs/offload.md)",
      mem::device::driver().names.maker, device, mem::device::driver().names.maker);
}

// --- all ranks on a node use device 0 ---

// Sets a flag on this rank's first message from or to device 0; the first rank that finds the flags of all ranks set
// reports the mistake.
void check_default_device(const layout::View& view) {
  static bool looked = false;
  const int devices = mem::device::devices_seen();
  if (looked || view.where.device != 0 || devices < 2) return;
  looked = true;
  const boot::Processes& processes = boot::processes();
  const int ranks = ranks_of_node();
  const auto flag_of = [](int rank) { return "device0-" + std::to_string(rank); };
  if (ranks < 2 || !boot::set_node_flag(flag_of(processes.self()))) return;
  for (const int rank : processes.of_this_host()) {
    if (!boot::node_flag_is_set(flag_of(rank))) return;
  }
  if (!boot::set_node_flag("device0-told-" + std::to_string(processes.host_of(processes.self())))) return;
  log::write(log::Level::kError,
             "check device: %s: all %d ranks of this node use device 0 of %d; choose one by the rank on the node "
             "(MPI_Comm_split_type, MPI_COMM_TYPE_SHARED): %s, acc_set_device_num or "
             "omp_set_default_device of that rank modulo the number of devices",
             current.function, ranks, devices, mem::device::driver().names.set_device);
}

// --- a context of another device ---

void check_context(const layout::View& view, const Argument& argument) {
  const int device = mem::device::current_device();
  if (device < 0 || view.where.device < 0 || device == view.where.device || !first_time(Pitfall::kOtherDevice)) return;
  log::write(log::Level::kError,
             "check device: %s: %s (%p) is memory of device %d, but device %d is current; what the program starts now "
             "is not ordered with this message. Make the buffer's device current first (%s, "
             "acc_set_device_num, omp_set_default_device)",
             current.function, argument.name, argument.address, static_cast<int>(view.where.device), device,
             mem::device::driver().names.set_device);
}

// --- an asynchronous queue that has not been waited for ---

void check_queues(const Argument& argument, int device) {
  if (!mem::openacc_queue_is_busy() || !first_time(Pitfall::kBusyQueue)) return;
  log::write(log::Level::kError,
             "check device: %s: an OpenACC queue has work that is not done while %s (%p) of device %d is handed over; "
             "MPI does not wait for queues. Unless that work leaves the buffer alone, wait for it first (acc wait, "
             "acc_wait_all)",
             current.function, argument.name, argument.address, device);
}

// --- a host buffer used instead of its device copy ---

enum class Contents : std::uint8_t { kEqual, kDiffering, kUnknown };

// Compares the data that would be sent from the host with the device copy.
Contents compare(const layout::View& host, const void* first, const mem::DeviceCopy& copy) {
  if (copy.address == nullptr) return Contents::kUnknown;
  layout::View device = host;
  device.address = reinterpret_cast<std::byte*>(
      reinterpret_cast<std::uintptr_t>(host.address) +
      (reinterpret_cast<std::uintptr_t>(copy.address) - reinterpret_cast<std::uintptr_t>(first)));
  if (!mem::classify(device.data(), &device.where).ok() || !device.where.is_device()) return Contents::kUnknown;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::unique_ptr<std::byte[]> pieces(new (std::nothrow) std::byte[2 * kPiece]);
  if (pieces == nullptr) return Contents::kUnknown;
  for (std::size_t done = 0; done < host.packed; done += kPiece) {
    const std::size_t bytes = std::min(kPiece, host.packed - done);
    if (!layout::pack(host, done, bytes, pieces.get()).ok()) return Contents::kUnknown;
    if (!layout::pack(device, done, bytes, pieces.get() + kPiece).ok()) return Contents::kUnknown;
    if (std::memcmp(pieces.get(), pieces.get() + kPiece, bytes) != 0) return Contents::kDiffering;
  }
  return Contents::kEqual;
}

void check_host_buffer(const layout::View& view, const Argument& argument) {
  if (argument.use != Argument::Use::kRead || view.where.managed) return;
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  layout::span_of(view, &first, &bytes);
  mem::DeviceCopy copy;
  if (!mem::find_device_copy(first, bytes, &copy)) return;
  check_queues(argument, copy.device);
  const Contents contents = compare(view, first, copy);
  static_cast<void>(take_detail());
  if (contents == Contents::kEqual || !first_time(Pitfall::kHostCopy)) return;
  log::write(log::Level::kError,
             "check device: %s: %s (%p) is host memory with a copy on device %d, %s. Pass the copy (OpenACC: host_data "
             "use_device, OpenMP: target data use_device_addr), or bring the host's up to date first (acc update self, "
             "target update from)",
             current.function, argument.name, argument.address, copy.device,
             contents == Contents::kDiffering ? "which holds other data" : "which may hold other data");
}

// Called for every view that has data.
void check_view(const layout::View& view) {
  static thread_local bool looking = false;  // true while the check itself creates views
  if (looking || current.function == nullptr) return;
  const Argument* const argument = argument_of(view);
  if (argument == nullptr) return;
  looking = true;
  if (view.where.is_device()) {
    check_default_device(view);
    check_context(view, *argument);
    if (!only_names_buffers()) check_queues(*argument, view.where.device);
  } else if (!only_names_buffers()) {
    check_host_buffer(view, *argument);
  }
  looking = false;
}

}  // namespace

bool begin() {
  if (const std::string unknown = unknown_check(); !unknown.empty()) {
    log::write(log::Level::kError, "HEADRACE_CHECK has no check \"%s\"; it accepts device, types and full",
               unknown.c_str());
  }
  if (!wants_check("device")) return false;
  check_start();
  mem::check_every_buffer();
  layout::view_checker = &check_view;
  return true;
}

Status check_arguments(const char* function, std::span<const Argument> arguments) {
  if (layout::view_checker != &check_view) return kOk;
  current.function = function;
  current.arguments.assign(arguments.begin(), arguments.end());
  for (const Argument& argument : arguments) {
    if (!argument.for_host() || reinterpret_cast<std::uintptr_t>(argument.address) < 4096) continue;
    mem::Location where;
    if (!mem::classify(argument.address, &where).ok()) {
      static_cast<void>(take_detail());
      continue;
    }
    if (!where.is_device() || where.managed) continue;
    return fail(Errc::kArg,
                "%s is %p, memory of device %d, but the CPU accesses it; pass host memory (an array inside host_data "
                "use_device or use_device_addr is the device's)",
                argument.name, argument.address, static_cast<int>(where.device));
  }
  return kOk;
}

}  // namespace hr::bind::device_check
