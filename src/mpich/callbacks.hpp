// Functions of the program that the library calls: their arguments are translated to MPICH's ABI, and their results to
// the standard's.
//
// The standard passes most of them a pointer of the program ("extra state"). For these, a single function of the
// library suffices, and the pointer is replaced with one to a record that contains the function to call. Operations and
// error handlers get no such pointer. For these, there are kFunctions functions of each kind here, and each function of
// the program is permanently assigned one of them, as an operation may still run after it has been freed.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "mpich/statuses.hpp"

extern "C" {
// MPICH's MPI_DUP_FN and the like are this function.
__attribute__((visibility("default"))) int MPIR_Dup_fn(int object, int keyval, void* extra_state, void* value_in,
                                                       void* value_out, int* flag);
}

namespace hr::mpich {

inline constexpr std::size_t kFunctions = 512;

// --- Callbacks without extra state ---

struct UserFunctionCalls {
  using Theirs = UserFunction;
  using Ours = MPI_User_function;
  template <std::size_t>
  struct One;
};
struct UserFunctionCCalls {
  using Theirs = UserFunctionC;
  using Ours = MPI_User_function_c;
  template <std::size_t>
  struct One;
};
struct CommErrhandlerFunctionCalls {
  using Theirs = CommErrhandlerFunction;
  using Ours = MPI_Comm_errhandler_function;
  template <std::size_t>
  struct One;
};
struct SessionErrhandlerFunctionCalls {
  using Theirs = SessionErrhandlerFunction;
  using Ours = MPI_Session_errhandler_function;
  template <std::size_t>
  struct One;
};
struct WinErrhandlerFunctionCalls {
  using Theirs = WinErrhandlerFunction;
  using Ours = MPI_Win_errhandler_function;
  template <std::size_t>
  struct One;
};
struct FileErrhandlerFunctionCalls {
  using Theirs = FileErrhandlerFunction;
  using Ours = MPI_File_errhandler_function;
  template <std::size_t>
  struct One;
};

template <class Calls>
class Pool {
 public:
  // Returns this library's function for the program's function; null if all are taken, or if `function` is null.
  static typename Calls::Ours* of(typename Calls::Theirs* function);
  static typename Calls::Theirs* at(std::size_t index) noexcept {
    return functions_[index].load(std::memory_order_relaxed);
  }

 private:
  inline static std::atomic<typename Calls::Theirs*> functions_[kFunctions];
};

// Reports that all functions are taken, raises MPI_ERR_NO_MEM on MPI_COMM_SELF, and returns the code.
int too_many_functions(const char* caller);

// --- Callbacks with extra state ---

// Functions of a keyval of the program. Kept permanently, once per combination, as attributes outlive their keyval.
template <class Copy, class Delete>
struct AttributeRecord {
  Copy* copy;
  Delete* remove;
  void* state;
};

// Types for one kind of attribute: MPICH's functions, the standard's functions, and the kind of object.
struct CommAttributeTypes {
  using Copy = CommCopyAttrFunction;
  using Delete = CommDeleteAttrFunction;
  using OurCopy = MPI_Comm_copy_attr_function;
  using OurDelete = MPI_Comm_delete_attr_function;
  static constexpr Kind kKind = Kind::kComm;
};
struct TypeAttributeTypes {
  using Copy = TypeCopyAttrFunction;
  using Delete = TypeDeleteAttrFunction;
  using OurCopy = MPI_Type_copy_attr_function;
  using OurDelete = MPI_Type_delete_attr_function;
  static constexpr Kind kKind = Kind::kDatatype;
};
struct WinAttributeTypes {
  using Copy = WinCopyAttrFunction;
  using Delete = WinDeleteAttrFunction;
  using OurCopy = MPI_Win_copy_attr_function;
  using OurDelete = MPI_Win_delete_attr_function;
  static constexpr Kind kKind = Kind::kWin;
};

template <class Types>
class Attributes {
 public:
  using Record = AttributeRecord<typename Types::Copy, typename Types::Delete>;

  Attributes(typename Types::Copy* copy, typename Types::Delete* remove, void* state);
  typename Types::OurCopy* function0() const noexcept { return copy_; }
  typename Types::OurDelete* function1() const noexcept { return remove_; }
  void* state() const noexcept { return state_; }
  void finish(int /*code*/) const noexcept {}

 private:
  typename Types::OurCopy* copy_ = nullptr;
  typename Types::OurDelete* remove_ = nullptr;
  void* state_;
};

using CommAttributes = Attributes<CommAttributeTypes>;
using TypeAttributes = Attributes<TypeAttributeTypes>;
using WinAttributes = Attributes<WinAttributeTypes>;

// Types for a data representation, with either form of MPICH's conversion function. Its Record is kept permanently,
// like the representation.
struct DatarepTypes {
  using Conversion = DatarepConversionFunction;
  using OurConversion = MPI_Datarep_conversion_function;
  using Number = int;
};
struct DatarepTypesC {
  using Conversion = DatarepConversionFunctionC;
  using OurConversion = MPI_Datarep_conversion_function_c;
  using Number = MPI_Count;
};

template <class Types>
class DatarepCallbacks {
 public:
  using Conversion = typename Types::Conversion;
  using OurConversion = typename Types::OurConversion;
  struct Record {
    Conversion* read;
    Conversion* write;
    DatarepExtentFunction* extent;
    void* state;
  };

  DatarepCallbacks(Conversion* read, Conversion* write, DatarepExtentFunction* extent, void* state)
      : record_(new Record{read, write, extent, state}) {}
  OurConversion* function0() const noexcept;
  OurConversion* function1() const noexcept;
  MPI_Datarep_extent_function* function2() const noexcept;
  void* state() const noexcept { return record_; }
  void finish(int code) noexcept;

 private:
  Record* record_;
};

// The types of the functions determine the template argument.
template <class Types>
class Datareps : public DatarepCallbacks<Types> {
 public:
  using DatarepCallbacks<Types>::DatarepCallbacks;
};
Datareps(DatarepConversionFunction*, DatarepConversionFunction*, DatarepExtentFunction*, void*)
    -> Datareps<DatarepTypes>;
Datareps(DatarepConversionFunctionC*, DatarepConversionFunctionC*, DatarepExtentFunction*, void*)
    -> Datareps<DatarepTypesC>;

// Callbacks of a generalized request. The record lives until the program's free function has been called.
class GeneralizedRequest {
 public:
  GeneralizedRequest(GrequestQueryFunction* query, GrequestFreeFunction* free, GrequestCancelFunction* cancel,
                     void* state);
  MPI_Grequest_query_function* function0() const noexcept;
  MPI_Grequest_free_function* function1() const noexcept;
  MPI_Grequest_cancel_function* function2() const noexcept;
  void* state() const noexcept { return record_; }
  void finish(int code) noexcept;

  struct Record {
    GrequestQueryFunction* query;
    GrequestFreeFunction* free;
    GrequestCancelFunction* cancel;
    void* state;
  };

 private:
  Record* record_;
};

}  // namespace hr::mpich
