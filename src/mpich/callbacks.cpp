#include "mpich/callbacks.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <tuple>

#include "mpich/entry.hpp"

int MPIR_Dup_fn(int /*object*/, int /*keyval*/, void* /*extra_state*/, void* value_in, void* value_out, int* flag) {
  *static_cast<void**>(value_out) = value_in;
  *flag = 1;
  return MPI_SUCCESS;
}

namespace hr::mpich {
namespace {

// A handle for the duration of a callback, because the program may no longer have a handle for the object.
template <Kind kind>
class Lent {
 public:
  explicit Lent(typename Traits<kind>::Standard object) noexcept : handle_(out<kind>(object)), lent_(handle_) {}
  ~Lent() { drop<kind>(lent_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  int* address() noexcept { return &handle_; }  // the program may write there
  int value() const noexcept { return handle_; }

 private:
  int handle_;
  const int lent_;
};

// The bodies are out of line, as each serves kFunctions functions.
template <class Count, class Function>
[[gnu::noinline]] void reduce(Function* function, void* in, void* inout, Count* length, MPI_Datatype* datatype) {
  Lent<Kind::kDatatype> handle(*datatype);
  function(in, inout, length, handle.address());
}

template <Kind kind, class Function>
[[gnu::noinline]] void handle_error(Function* function, typename Traits<kind>::Standard* object, int* code) {
  Lent<kind> handle(*object);
  int theirs = ErrorCode::out(*code);
  function(handle.address(), &theirs);
  *code = ErrorCode::in(theirs);
}

[[gnu::noinline]] void handle_file_error(FileErrhandlerFunction* function, MPI_File* file, int* code) {
  File theirs = file_out(*file);
  int their_code = ErrorCode::out(*code);
  function(&theirs, &their_code);
  *code = ErrorCode::in(their_code);
}

template <class Calls, std::size_t... index>
constexpr auto all_of(std::index_sequence<index...>) {
  return std::array<typename Calls::Ours*, sizeof...(index)>{&Calls::template One<index>::call...};
}

}  // namespace

template <std::size_t index>
struct UserFunctionCalls::One {
  static void call(void* in, void* inout, int* length, MPI_Datatype* datatype) {
    reduce(Pool<UserFunctionCalls>::at(index), in, inout, length, datatype);
  }
};

template <std::size_t index>
struct UserFunctionCCalls::One {
  static void call(void* in, void* inout, MPI_Count* length, MPI_Datatype* datatype) {
    reduce(Pool<UserFunctionCCalls>::at(index), in, inout, length, datatype);
  }
};

template <std::size_t index>
struct CommErrhandlerFunctionCalls::One {
  static void call(MPI_Comm* comm, int* code, ...) {
    handle_error<Kind::kComm>(Pool<CommErrhandlerFunctionCalls>::at(index), comm, code);
  }
};

template <std::size_t index>
struct SessionErrhandlerFunctionCalls::One {
  static void call(MPI_Session* session, int* code, ...) {
    handle_error<Kind::kSession>(Pool<SessionErrhandlerFunctionCalls>::at(index), session, code);
  }
};

template <std::size_t index>
struct WinErrhandlerFunctionCalls::One {
  static void call(MPI_Win* win, int* code, ...) {
    handle_error<Kind::kWin>(Pool<WinErrhandlerFunctionCalls>::at(index), win, code);
  }
};

template <std::size_t index>
struct FileErrhandlerFunctionCalls::One {
  static void call(MPI_File* file, int* code, ...) {
    handle_file_error(Pool<FileErrhandlerFunctionCalls>::at(index), file, code);
  }
};

template <class Calls>
typename Calls::Ours* Pool<Calls>::of(typename Calls::Theirs* function) {
  static constexpr auto kOurs = all_of<Calls>(std::make_index_sequence<kFunctions>());
  static auto* const known = new std::unordered_map<typename Calls::Theirs*, std::size_t>;
  static auto* const mutex = new std::mutex;
  if (function == nullptr) return nullptr;
  const std::lock_guard lock(*mutex);
  const auto found = known->find(function);
  if (found != known->end()) return kOurs[found->second];
  const std::size_t index = known->size();
  if (index == kFunctions) return nullptr;
  functions_[index].store(function, std::memory_order_relaxed);
  known->emplace(function, index);
  return kOurs[index];
}

template class Pool<UserFunctionCalls>;
template class Pool<UserFunctionCCalls>;
template class Pool<CommErrhandlerFunctionCalls>;
template class Pool<SessionErrhandlerFunctionCalls>;
template class Pool<WinErrhandlerFunctionCalls>;
template class Pool<FileErrhandlerFunctionCalls>;

int too_many_functions(const char* caller) {
  std::fprintf(stderr,
               "headrace: %s: the program has given MPI %zu different functions of this kind already, which is as many "
               "as libmpi.so.12 (MPICH's ABI) can tell apart; a program compiled by Headrace's mpicc has no limit\n",
               caller, kFunctions);
  standard.MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
  return ErrorCode::out(MPI_ERR_NO_MEM);
}

// --- Attributes ---

namespace {

template <class Types>
struct AttributeCalls {
  using Standard = typename Traits<Types::kKind>::Standard;
  using Record = typename Attributes<Types>::Record;

  static int copy(Standard object, int keyval, void* state, void* value_in, void* value_out, int* flag) {
    const auto* const record = static_cast<const Record*>(state);
    const Lent<Types::kKind> handle(object);
    return ErrorCode::in(record->copy(handle.value(), Keyval::out(keyval), record->state, value_in, value_out, flag));
  }
  static int remove(Standard object, int keyval, void* value, void* state) {
    const auto* const record = static_cast<const Record*>(state);
    const Lent<Types::kKind> handle(object);
    return ErrorCode::in(record->remove(handle.value(), Keyval::out(keyval), value, record->state));
  }
};

template <class Record>
Record* kept(const Record& record) {
  using Key = std::tuple<decltype(record.copy), decltype(record.remove), void*>;
  static auto* const records = new std::map<Key, Record*>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  Record*& one = (*records)[Key(record.copy, record.remove, record.state)];
  if (one == nullptr) one = new Record(record);
  return one;
}

}  // namespace

template <class Types>
Attributes<Types>::Attributes(typename Types::Copy* copy, typename Types::Delete* remove, void* state) : state_(state) {
  const bool duplicates = copy == &MPIR_Dup_fn;
  if (duplicates) copy_ = reinterpret_cast<typename Types::OurCopy*>(MPI_COMM_DUP_FN);
  if ((copy == nullptr || duplicates) && remove == nullptr) return;
  state_ = kept(Record{copy, remove, state});
  if (copy != nullptr && !duplicates) copy_ = &AttributeCalls<Types>::copy;
  if (remove != nullptr) remove_ = &AttributeCalls<Types>::remove;
}

template class Attributes<CommAttributeTypes>;
template class Attributes<TypeAttributeTypes>;
template class Attributes<WinAttributeTypes>;

// --- Generalized requests ---

namespace {

int query_request(void* state, MPI_Status* status) {
  const auto* const record = static_cast<const GeneralizedRequest::Record*>(state);
  Status theirs = {0, 0, value::kAnySource, value::kAnyTag, MPI_SUCCESS};
  const int code = record->query(record->state, &theirs);
  to_standard(theirs, *status);
  return ErrorCode::in(code);
}

int free_request(void* state) {
  auto* const record = static_cast<GeneralizedRequest::Record*>(state);
  const int code = record->free == nullptr ? MPI_SUCCESS : record->free(record->state);
  delete record;
  return ErrorCode::in(code);
}

int cancel_request(void* state, int complete) {
  const auto* const record = static_cast<const GeneralizedRequest::Record*>(state);
  return ErrorCode::in(record->cancel(record->state, complete));
}

}  // namespace

GeneralizedRequest::GeneralizedRequest(GrequestQueryFunction* query, GrequestFreeFunction* free,
                                       GrequestCancelFunction* cancel, void* state)
    : record_(new Record{query, free, cancel, state}) {}

MPI_Grequest_query_function* GeneralizedRequest::function0() const noexcept {
  return record_->query == nullptr ? nullptr : &query_request;
}
MPI_Grequest_free_function* GeneralizedRequest::function1() const noexcept { return &free_request; }
MPI_Grequest_cancel_function* GeneralizedRequest::function2() const noexcept {
  return record_->cancel == nullptr ? nullptr : &cancel_request;
}

void GeneralizedRequest::finish(int code) noexcept {
  if (code != MPI_SUCCESS) delete record_;
}

// --- Data representations ---

namespace {

template <class Types, bool kReads>
int convert(void* user, MPI_Datatype type, typename Types::Number count, void* file, MPI_Offset position, void* state) {
  const auto* const record = static_cast<const typename DatarepCallbacks<Types>::Record*>(state);
  const Lent<Kind::kDatatype> handle(type);
  auto* const function = kReads ? record->read : record->write;
  return ErrorCode::in(function(user, handle.value(), count, file, position, record->state));
}

template <class Types>
int file_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  const auto* const record = static_cast<const typename DatarepCallbacks<Types>::Record*>(state);
  const Lent<Kind::kDatatype> handle(type);
  return ErrorCode::in(record->extent(handle.value(), extent, record->state));
}

}  // namespace

template <class Types>
auto DatarepCallbacks<Types>::function0() const noexcept -> OurConversion* {
  return record_->read == nullptr ? nullptr : &convert<Types, true>;
}
template <class Types>
auto DatarepCallbacks<Types>::function1() const noexcept -> OurConversion* {
  return record_->write == nullptr ? nullptr : &convert<Types, false>;
}
template <class Types>
MPI_Datarep_extent_function* DatarepCallbacks<Types>::function2() const noexcept {
  return record_->extent == nullptr ? nullptr : &file_extent<Types>;
}
template <class Types>
void DatarepCallbacks<Types>::finish(int code) noexcept {
  if (code != MPI_SUCCESS) delete record_;
}

template class DatarepCallbacks<DatarepTypes>;
template class DatarepCallbacks<DatarepTypesC>;

}  // namespace hr::mpich
