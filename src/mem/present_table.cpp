#include "mem/present_table.hpp"

#include <dlfcn.h>

#include "mem/device.hpp"
#include "mem/device/program_state.hpp"
#include "mem/imports.hpp"

namespace hr::mem {
namespace {

template <class Function>
bool look_up(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// True if a query about the device does not start it. Without a driver in use, the devices are of a kind that the
// library does not use.
bool may_ask(int device) { return device::find_driver() == nullptr || device::context_exists(device); }

// True if OpenACC may be queried. GCC has one library for both OpenACC and OpenMP, which aborts a program that uses a
// device through one of them and queries it through the other. So GCC's library is queried through OpenACC only if some
// loaded object imports OpenACC's functions. The search is repeated until it succeeds, as libraries may be loaded
// later.
bool openacc_is_in_use() {
  static bool found = false;
  if (!found) found = ::dlsym(RTLD_DEFAULT, "GOACC_data_start") == nullptr || anyone_imports({"GOACC_", "acc_"});
  return found;
}

// Returns the calling thread's device, which the standard functions report without starting it; -1 if the program's
// OpenACC runtime must not be queried.
int openacc_device() {
  int (*type_of_device)() = nullptr;
  int (*number_of_device)(int type) = nullptr;
  if (!look_up("acc_get_device_type", type_of_device) || !look_up("acc_get_device_num", number_of_device)) return -1;
  if (!openacc_is_in_use()) return -1;
  const int device = number_of_device(type_of_device());
  return device >= 0 && may_ask(device) ? device : -1;
}

bool ask_openacc(const void* host, std::size_t bytes, DeviceCopy* copy) {
  int (*is_present)(void*, std::size_t) = nullptr;
  void* (*device_pointer)(void*) = nullptr;
  if (!look_up("acc_is_present", is_present) || !look_up("acc_deviceptr", device_pointer)) return false;
  const int device = openacc_device();
  auto* const address = const_cast<void*>(host);
  if (device < 0 || is_present(address, bytes) == 0) return false;
  *copy = {device, device_pointer(address)};
  return copy->address != nullptr && copy->address != host;
}

bool ask_openmp(const void* host, std::size_t bytes, DeviceCopy* copy) {
  int (*number_of_devices)() = nullptr;
  int (*is_present)(const void*, int) = nullptr;
  void* (*mapped_pointer)(const void*, int) = nullptr;  // exists from OpenMP 5.1 on
  if (!look_up("omp_get_num_devices", number_of_devices) || !look_up("omp_target_is_present", is_present)) return false;
  const bool tells = look_up("omp_get_mapped_ptr", mapped_pointer);
  const void* last = static_cast<const std::byte*>(host) + bytes - 1;
  for (int device = 0; device < number_of_devices(); ++device) {
    if (!may_ask(device) || is_present(host, device) == 0 || is_present(last, device) == 0) continue;
    *copy = {device, tells ? mapped_pointer(host, device) : nullptr};
    if (!tells || (copy->address != nullptr && copy->address != host)) return true;
  }
  return false;
}

}  // namespace

bool find_device_copy(const void* host, std::size_t bytes, DeviceCopy* copy) {
  return bytes != 0 && (ask_openacc(host, bytes, copy) || ask_openmp(host, bytes, copy));
}

bool openacc_queue_is_busy() {
  int (*is_present)(void*, std::size_t) = nullptr;
  int (*all_done)() = nullptr;
  if (!look_up("acc_is_present", is_present) || !look_up("acc_async_test_all", all_done)) return false;
  if (openacc_device() < 0) return false;
  // Some libraries abort the program when a thread that has not used OpenACC yet queries its queues; acc_is_present()
  // counts as a use.
  char here = 0;
  static_cast<void>(is_present(&here, 1));
  return all_done() == 0;
}

}  // namespace hr::mem
