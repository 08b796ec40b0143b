// Queries of the ABI and the properties of the Fortran side (MPI 5.0 sections 20.2, 20.4.1).
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bind/impl.hpp"
#include "comm/info.hpp"
#include "layout/basic.hpp"

namespace hr::bind::impl {
namespace {

Status make_info(const std::vector<std::pair<const char*, std::size_t>>& entries, Ref<comm::Info>& info) {
  info = comm::create_info();
  if (!info) return fail(Errc::kNoMem, "no more info objects can be created");
  for (const auto& [key, value] : entries) HR_TRY(info->set(key, std::to_string(value)));
  return kOk;
}

// Returns the bytes of a Fortran logical as an integer; for longer logicals, the first 8 bytes suffice to distinguish
// the values.
std::int64_t integer_of(const void* logical, int size) {
  std::int64_t value = 0;
  std::memcpy(&value, logical, static_cast<std::size_t>(size < 8 ? size : 8));
  const int unused = size < 8 ? 64 - 8 * size : 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;  // .TRUE. may be -1
}

// Sizes of the Fortran types; a Fortran library with other sizes is not supported.
constexpr std::array<std::pair<const char*, const char*>, 4> kFortranSizes = {
    {{"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"}}};

Ref<comm::Info>& fortran_info() {
  static Ref<comm::Info> info;
  return info;
}

struct Booleans {
  int size = 0;  // 0: not set
  std::array<unsigned char, 16> is_true{};
  std::array<unsigned char, 16> is_false{};
};
Booleans booleans;

Status check_logical_size(int size) {
  if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16) return kOk;
  return fail(Errc::kAbi, "logical_size is %d; a LOGICAL has 1, 2, 4, 8 or 16 bytes", size);
}

}  // namespace

Status abi_get_version(int& abi_major, int& abi_minor) {
  abi_major = MPI_ABI_VERSION;
  abi_minor = MPI_ABI_SUBVERSION;
  return kOk;
}

Status abi_get_info(Ref<comm::Info>& info) {
  return make_info({{"mpi_aint_size", sizeof(MPI_Aint)},
                    {"mpi_count_size", sizeof(MPI_Count)},
                    {"mpi_offset_size", sizeof(MPI_Offset)}},
                   info);
}

Status abi_get_fortran_info(Ref<comm::Info>& info) {
  if (fortran_info()) info = fortran_info()->dup();
  return kOk;
}

Status abi_set_fortran_info(comm::Info* info) {
  if (info == nullptr) return fail(Errc::kInfo, "info is MPI_INFO_NULL");
  if (fortran_info()) return fail(Errc::kAbi, "the properties of Fortran were set before");
  for (const auto& [key, expected] : kFortranSizes) {
    const std::string* given = info->get(key);
    if (given != nullptr && *given != expected) {
      return fail(Errc::kAbi, "%s is %s; this library serves a Fortran with %s", key, given->c_str(), expected);
    }
  }
  fortran_info() = info->dup();
  return kOk;
}

Status abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  HR_TRY(check_logical_size(logical_size));
  if (logical_true == nullptr || logical_false == nullptr) return fail(Errc::kArg, "a logical is a null pointer");
  if (booleans.size != 0) return fail(Errc::kAbi, "the values of Fortran's LOGICAL were set before");
  booleans.size = logical_size;
  std::memcpy(booleans.is_true.data(), logical_true, static_cast<std::size_t>(logical_size));
  std::memcpy(booleans.is_false.data(), logical_false, static_cast<std::size_t>(logical_size));
  // Values that reductions on logicals store.
  layout::fortran_booleans().true_value = integer_of(logical_true, logical_size);
  layout::fortran_booleans().false_value = integer_of(logical_false, logical_size);
  return kOk;
}

Status abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int& is_set) {
  HR_TRY(check_logical_size(logical_size));
  is_set = booleans.size == logical_size ? 1 : 0;
  if (is_set == 0) return kOk;
  if (logical_true == nullptr || logical_false == nullptr) return fail(Errc::kArg, "a logical is a null pointer");
  std::memcpy(logical_true, booleans.is_true.data(), static_cast<std::size_t>(logical_size));
  std::memcpy(logical_false, booleans.is_false.data(), static_cast<std::size_t>(logical_size));
  return kOk;
}

}  // namespace hr::bind::impl
