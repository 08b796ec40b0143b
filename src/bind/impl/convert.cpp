// Handles as integers: MPI_X_c2f, MPI_X_f2c (MPI 5.0 section 19.3.4), MPI_X_toint, MPI_X_fromint (section 20.4.5).
//
// A predefined handle is its ABI constant. Any other handle, a 64-bit address, gets a number on its first conversion.
// The pair is kept for the lifetime of the process: an address that is reused for another object keeps its number, so
// that a number never stands for two handles. An integer that is not the number of a handle is converted to the null
// handle.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bind/handles.hpp"
#include "bind/impl.hpp"

namespace hr::bind::impl {
namespace {

constexpr int kFirstNumber = static_cast<int>(kFirstAddress);

struct Numbers {
  std::unordered_map<const void*, int> number_of;
  std::vector<void*> handles;
};

Numbers& numbers() {
  static Numbers table;
  return table;
}

int number_of(void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < kFirstAddress) return static_cast<int>(value);
  Numbers& table = numbers();
  const auto [found, added] =
      table.number_of.try_emplace(handle, kFirstNumber + static_cast<int>(table.handles.size()));
  if (added) table.handles.push_back(handle);
  return found->second;
}

template <class T>
T handle_from(int number, std::uintptr_t null) {
  if (number >= 0 && number < kFirstNumber) return reinterpret_cast<T>(static_cast<std::uintptr_t>(number));
  const Numbers& table = numbers();
  const auto index = static_cast<std::size_t>(number) - static_cast<std::size_t>(kFirstNumber);
  return number > 0 && index < table.handles.size() ? static_cast<T>(table.handles[index]) : reinterpret_cast<T>(null);
}

}  // namespace

// The four functions of a handle type.
#define HR_CONVERSIONS(stem, Type, null)                                            \
  MPI_Fint stem##_c2f(Type handle) { return number_of(handle); }                    \
  Type stem##_f2c(MPI_Fint number) { return handle_from<Type>(number, abi::null); } \
  int stem##_toint(Type handle) { return number_of(handle); }                       \
  Type stem##_fromint(int number) { return handle_from<Type>(number, abi::null); }

HR_CONVERSIONS(comm, MPI_Comm, kCommNull)
HR_CONVERSIONS(errhandler, MPI_Errhandler, kErrhandlerNull)
HR_CONVERSIONS(file, MPI_File, kFileNull)
HR_CONVERSIONS(group, MPI_Group, kGroupNull)
HR_CONVERSIONS(info, MPI_Info, kInfoNull)
HR_CONVERSIONS(message, MPI_Message, kMessageNull)
HR_CONVERSIONS(op, MPI_Op, kOpNull)
HR_CONVERSIONS(request, MPI_Request, kRequestNull)
HR_CONVERSIONS(session, MPI_Session, kSessionNull)
HR_CONVERSIONS(type, MPI_Datatype, kDatatypeNull)
HR_CONVERSIONS(win, MPI_Win, kWinNull)

#undef HR_CONVERSIONS

}  // namespace hr::bind::impl
