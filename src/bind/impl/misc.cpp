// Clocks, versions, memory, addresses (MPI 5.0 sections 9.1, 9.2, 9.6, 5.1.5, 15.2.7).
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/clock.hpp"
#include "base/counters.hpp"
#include "bind/impl.hpp"
#include "bind/version.hpp"
#include "comm/info.hpp"

namespace hr::bind::impl {
namespace {

// Two cache lines; also enough for every vector type.
constexpr std::size_t kAllocationAlignment = 128;

int copy_text(char* to, std::string_view text, std::size_t room) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return static_cast<int>(length);
}

}  // namespace

double wtime() { return now_seconds(); }
double wtick() { return clock_resolution_seconds(); }

Status get_version(int& version, int& subversion) {
  version = MPI_VERSION;
  subversion = MPI_SUBVERSION;
  return kOk;
}

Status get_library_version(char* version, int& resultlen) {
  resultlen = copy_text(version, kLibraryVersion, MPI_MAX_LIBRARY_VERSION_STRING);
  return kOk;
}

Status get_processor_name(char* name, int& resultlen) {
  char host[MPI_MAX_PROCESSOR_NAME] = "localhost";
  // A name that does not fit is truncated. After any other failure, the name stays "localhost".
  static_cast<void>(::gethostname(host, sizeof host - 1));
  resultlen = copy_text(name, host, MPI_MAX_PROCESSOR_NAME);
  return kOk;
}

// The info key "mpi_minimum_memory_alignment" (section 9.2) is honoured up to the alignment of a page.
Status alloc_mem(Count size, comm::Info* info, void* baseptr) {
  std::size_t alignment = kAllocationAlignment;
  const std::string* wanted = info != nullptr ? info->get("mpi_minimum_memory_alignment") : nullptr;
  if (wanted != nullptr) {
    const std::size_t value = std::strtoul(wanted->c_str(), nullptr, 10);
    if (value > alignment && (value & (value - 1)) == 0) alignment = value;
  }
  const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(size), 1);
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, bytes) != 0) {
    return fail(Errc::kNoMem, "%lld bytes with an alignment of %zu cannot be allocated", static_cast<long long>(size),
                alignment);
  }
  std::memcpy(baseptr, &memory, sizeof memory);
  return kOk;
}

Status free_mem(void* base) {
  std::free(base);
  return kOk;
}

Status get_address(const void* location, Count& address) {
  address = static_cast<Count>(reinterpret_cast<std::intptr_t>(location));
  return kOk;
}

// Computes with unsigned numbers, as addresses may be "negative" and their sums may wrap around.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}
MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) - static_cast<std::uintptr_t>(addr2));
}

// Only counts a mark; profiling libraries may intercept the call (section 15.2.7).
int pcontrol(int level) {
  counters::count_mark(level);
  return MPI_SUCCESS;
}

// Reports the hardware resource that processes share: the memory of their node (section 9.1.2). The types are those of
// MPI_Comm_split_type.
Status get_hw_resource_info(Ref<comm::Info>& hw_info) {
  hw_info = comm::create_info();
  if (!hw_info) return fail(Errc::kNoMem, "no more info objects can be created");
  return hw_info->set("mpi_shared_memory", "true");
}

}  // namespace hr::bind::impl
