#include "mem/present_table.hpp"

#include <dlfcn.h>

#include "mem/cuda/driver.hpp"
#include "mem/cuda/program_state.hpp"
#include "mem/imports.hpp"

namespace hr::mem {
namespace {

template <class Function>
bool look_up(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// True if asking about the device starts nothing. Without CUDA, devices are of another kind, and not ours.
bool may_ask(int device) { return cuda::find_driver() == nullptr || cuda::context_exists(device); }

// GCC's one library serves both OpenACC and OpenMP, and ends a program that has used a device by one and asks by the
// other. So it is asked about OpenACC only if something uses that. Looked for again until found: libraries may come.
bool openacc_is_in_use() {
  static bool found = false;
  if (!found) found = ::dlsym(RTLD_DEFAULT, "GOACC_data_start") == nullptr || anyone_imports({"GOACC_", "acc_"});
  return found;
}

// Returns the device of the calling thread, which the standard functions name without starting it; -1: do not ask.
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
  void* (*mapped_pointer)(const void*, int) = nullptr;  // since OpenMP 5.1
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
  // Some libraries end the program when a thread that has not used OpenACC yet asks for queues; this is such a use.
  char here = 0;
  static_cast<void>(is_present(&here, 1));
  return all_done() == 0;
}

}  // namespace hr::mem
