// Functions whose translation depends on more than the kinds of their arguments (api/mpich.yaml, by_hand), functions
// that exist only in MPICH, and MPI-1 functions without a direct replacement.
#include <cstdio>
#include <cstdlib>

#include "mpich/arguments.hpp"
#include "mpich/entry.hpp"

using namespace hr::mpich;  // NOLINT

namespace {

// Values of predefined attributes are addresses of ints. An int that differs in MPICH is kept here; threads may write
// it concurrently, but always the same value.
enum Translated { kHost, kIo, kLastUsedCode, kFlavor, kModel, kTranslatedCount };
std::atomic<int> translated[kTranslatedCount];

void* translate(Translated which, int number) {
  translated[which].store(number, std::memory_order_relaxed);
  return &translated[which];
}

// `attribute_val`: address of a pointer. `keyval`: the standard's.
void attribute_out(int keyval, void* attribute_val, int flag) {
  if (flag == 0 || attribute_val == nullptr) return;
  void*& value = *static_cast<void**>(attribute_val);
  switch (keyval) {
    case MPI_HOST:
      value = translate(kHost, Rank::out(*static_cast<int*>(value)));
      break;
    case MPI_IO:
      value = translate(kIo, Rank::out(*static_cast<int*>(value)));
      break;
    case MPI_LASTUSEDCODE:
      value = translate(kLastUsedCode, ErrorCode::out(*static_cast<int*>(value)));
      break;
    case MPI_WIN_CREATE_FLAVOR:
      value = translate(kFlavor, WindowFlavor::out(*static_cast<int*>(value)));
      break;
    case MPI_WIN_MODEL:
      value = translate(kModel, WindowModel::out(*static_cast<int*>(value)));
      break;
    default:
      break;
  }
}

bool is_root(MPI_Comm comm, int root) {
  int rank = -1;
  return standard.MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

// Translates the codes of a failed spawn. If nothing was started, all codes are the class of the error. `most` may be
// wrong on processes other than the root.
void spawn_codes_out(int code, int* codes, int most) {
  if (code == MPI_SUCCESS || codes == nullptr) return;
  int wanted = code;
  standard.MPI_Error_class(code, &wanted);
  for (int i = 0; i < most && codes[i] == wanted; ++i) codes[i] = ErrorCode::out(wanted);
}

// Translates the integers of a constructor that are constants (MPI 5.0 section 5.1.13): for subarray and darray, the
// last one is the order; for darray, it follows the distributions, their arguments and the sizes of the process grid.
void contents_out(int combiner, int* integers, std::int64_t number) {
  if (integers == nullptr || number < 1) return;
  if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY) return;
  integers[number - 1] = Order::out(integers[number - 1]);
  if (combiner != MPI_COMBINER_DARRAY || number < 4) return;
  const std::int64_t dimensions = integers[2];
  int* const distributions = integers + (number - 1 - 3 * dimensions);
  for (std::int64_t i = 0; i < dimensions; ++i) {
    distributions[i] = Distribution::out(distributions[i]);
    distributions[dimensions + i] = DistributionArgument::out(distributions[dimensions + i]);
  }
}

}  // namespace

HR_ENTRY(MPI_Abi_get_version, int entry_MPI_Abi_get_version(int* abi_major, int* abi_minor)) {
  // -1 means that this library's ABI is not the standard one, but MPICH's.
  if (abi_major != nullptr) *abi_major = -1;
  if (abi_minor != nullptr) *abi_minor = -1;
  return MPI_SUCCESS;
}
HR_ALIAS(MPI_Abi_get_version, MPI_Abi_get_version);

HR_ENTRY(MPI_Comm_get_attr, int entry_MPI_Comm_get_attr(int comm, int keyval, void* attribute_val, int* flag)) {
  const int standard_keyval = Keyval::in(keyval);
  const int code = standard.MPI_Comm_get_attr(in<Kind::kComm>(comm), standard_keyval, attribute_val, flag);
  if (code == MPI_SUCCESS) attribute_out(standard_keyval, attribute_val, *flag);
  return ErrorCode::out(code);
}
HR_ALIAS(MPI_Comm_get_attr, MPI_Comm_get_attr);

HR_ENTRY(MPI_Attr_get, int entry_MPI_Attr_get(int comm, int keyval, void* attribute_val, int* flag)) {
  const int standard_keyval = Keyval::in(keyval);
  const int code = standard.MPI_Attr_get(in<Kind::kComm>(comm), standard_keyval, attribute_val, flag);
  if (code == MPI_SUCCESS) attribute_out(standard_keyval, attribute_val, *flag);
  return ErrorCode::out(code);
}
HR_ALIAS(MPI_Attr_get, MPI_Attr_get);

HR_ENTRY(MPI_Win_get_attr, int entry_MPI_Win_get_attr(int win, int keyval, void* attribute_val, int* flag)) {
  const int standard_keyval = Keyval::in(keyval);
  const int code = standard.MPI_Win_get_attr(in<Kind::kWin>(win), standard_keyval, attribute_val, flag);
  if (code == MPI_SUCCESS) attribute_out(standard_keyval, attribute_val, *flag);
  return ErrorCode::out(code);
}
HR_ALIAS(MPI_Win_get_attr, MPI_Win_get_attr);

HR_ENTRY(MPI_Comm_spawn, int entry_MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, int info, int root,
                                                  int comm, int* intercomm, int array_of_errcodes[])) {
  HandleOut<Kind::kComm> made(intercomm);
  const MPI_Comm parents = in<Kind::kComm>(comm);
  const MPI_Info hints = is_root(parents, root) ? in<Kind::kInfo>(info) : MPI_INFO_NULL;
  const int code = standard.MPI_Comm_spawn(command, argv, maxprocs, hints, Rank::in(root), parents, made.argument(),
                                           array_of_errcodes);
  made.finish();
  spawn_codes_out(code, array_of_errcodes, maxprocs);
  return ErrorCode::out(code);
}
HR_ALIAS(MPI_Comm_spawn, MPI_Comm_spawn);

HR_ENTRY(MPI_Comm_spawn_multiple,
         int entry_MPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                                           const int array_of_maxprocs[], const int array_of_info[], int root, int comm,
                                           int* intercomm, int array_of_errcodes[])) {
  HandleOut<Kind::kComm> made(intercomm);
  const MPI_Comm parents = in<Kind::kComm>(comm);
  const bool here = is_root(parents, root);
  HandlesIn<Kind::kInfo> hints(array_of_info, here ? count : 0);
  const int code =
      standard.MPI_Comm_spawn_multiple(count, array_of_commands, array_of_argv, array_of_maxprocs, hints.argument(),
                                       Rank::in(root), parents, made.argument(), array_of_errcodes);
  made.finish();
  int processes = 0;
  for (int i = 0; here && i < count && array_of_maxprocs != nullptr; ++i) processes += array_of_maxprocs[i];
  spawn_codes_out(code, array_of_errcodes, processes);
  return ErrorCode::out(code);
}
HR_ALIAS(MPI_Comm_spawn_multiple, MPI_Comm_spawn_multiple);

HR_ENTRY(MPI_Type_get_contents,
         int entry_MPI_Type_get_contents(int datatype, int max_integers, int max_addresses, int max_datatypes,
                                         int array_of_integers[], MPI_Aint array_of_addresses[],
                                         int array_of_datatypes[])) {
  const MPI_Datatype object = in<Kind::kDatatype>(datatype);
  HandlesOut<Kind::kDatatype> datatypes(array_of_datatypes, max_datatypes);
  const int code = standard.MPI_Type_get_contents(object, max_integers, max_addresses, max_datatypes, array_of_integers,
                                                  array_of_addresses, datatypes.argument());
  if (code != MPI_SUCCESS) return ErrorCode::out(code);
  datatypes.finish();
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  standard.MPI_Type_get_envelope(object, &integers, &addresses, &types, &combiner);
  contents_out(combiner, array_of_integers, integers);
  return MPI_SUCCESS;
}
HR_ALIAS(MPI_Type_get_contents, MPI_Type_get_contents);

HR_ENTRY(MPI_Type_get_contents_c,
         int entry_MPI_Type_get_contents_c(int datatype, MPI_Count max_integers, MPI_Count max_addresses,
                                           MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                                           MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                                           int array_of_datatypes[])) {
  const MPI_Datatype object = in<Kind::kDatatype>(datatype);
  HandlesOut<Kind::kDatatype> datatypes(array_of_datatypes, max_datatypes);
  const int code = standard.MPI_Type_get_contents_c(object, max_integers, max_addresses, max_large_counts,
                                                    max_datatypes, array_of_integers, array_of_addresses,
                                                    array_of_large_counts, datatypes.argument());
  if (code != MPI_SUCCESS) return ErrorCode::out(code);
  datatypes.finish();
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count types = 0;
  int combiner = 0;
  standard.MPI_Type_get_envelope_c(object, &integers, &addresses, &large_counts, &types, &combiner);
  contents_out(combiner, array_of_integers, integers);
  return MPI_SUCCESS;
}
HR_ALIAS(MPI_Type_get_contents_c, MPI_Type_get_contents_c);

// A file handle is a pointer in MPICH as well; libmpi_abi.so.1 assigns the number.
HR_ENTRY(MPI_File_toint, int entry_MPI_File_toint(File file)) {
  return file == nullptr ? 0 : standard.MPI_File_toint(file_in(file));
}
HR_ALIAS(MPI_File_toint, MPI_File_toint);
HR_ALIAS_BOTH(MPI_File_c2f, MPI_File_toint);

HR_ENTRY(MPI_File_fromint, File entry_MPI_File_fromint(int file)) {
  return file == 0 ? nullptr : file_out(standard.MPI_File_fromint(file));
}
HR_ALIAS(MPI_File_fromint, MPI_File_fromint);
HR_ALIAS_BOTH(MPI_File_f2c, MPI_File_fromint);

// --- Functions of MPI 1 ---

namespace {

int bounds(int datatype, MPI_Aint* lower, MPI_Aint* upper, MPI_Aint* extent) {
  MPI_Aint lb = 0;
  MPI_Aint length = 0;
  const int code = standard.MPI_Type_get_extent(in<Kind::kDatatype>(datatype), &lb, &length);
  if (code != MPI_SUCCESS) return ErrorCode::out(code);
  if (lower != nullptr) *lower = lb;
  if (upper != nullptr) *upper = lb + length;
  if (extent != nullptr) *extent = length;
  return MPI_SUCCESS;
}

}  // namespace

HR_ENTRY(MPI_Type_extent, int entry_MPI_Type_extent(int datatype, MPI_Aint* extent)) {
  return bounds(datatype, nullptr, nullptr, extent);
}
HR_ALIAS(MPI_Type_extent, MPI_Type_extent);

HR_ENTRY(MPI_Type_lb, int entry_MPI_Type_lb(int datatype, MPI_Aint* displacement)) {
  return bounds(datatype, displacement, nullptr, nullptr);
}
HR_ALIAS(MPI_Type_lb, MPI_Type_lb);

HR_ENTRY(MPI_Type_ub, int entry_MPI_Type_ub(int datatype, MPI_Aint* displacement)) {
  return bounds(datatype, nullptr, displacement, nullptr);
}
HR_ALIAS(MPI_Type_ub, MPI_Type_ub);

// --- MPICH's own: functions for MPI's C++ bindings, which MPI 3.0 removed ---

namespace {

[[noreturn]] void no_bindings(const char* what) {
  std::fprintf(stderr,
               "headrace: the program gives MPI's old C++ bindings (libmpicxx) %s of its own, which Headrace does not "
               "call; the C functions of MPI do, from C++ too\n",
               what);
  std::abort();
}

}  // namespace

extern "C" {
HR_EXPORT void MPII_Op_set_cxx(int, void (*)()) { no_bindings("an operation"); }
HR_EXPORT void MPII_Errhandler_set_cxx(int, void (*)()) { no_bindings("an error handler"); }
// Called for every keyval, even those without functions.
HR_EXPORT void MPII_Keyval_set_proxy(int, void*, void*) { no_bindings("attribute functions"); }
}
