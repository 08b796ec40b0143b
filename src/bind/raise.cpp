#include "bind/raise.hpp"

#include <climits>
#include <utility>

#include "base/lock.hpp"
#include "bind/error_codes.hpp"
#include "bind/handles.hpp"
#include "bind/runtime.hpp"
#include "check/check.hpp"
#include "comm/failure.hpp"
#include "comm/session.hpp"
#include "p2p/progress.hpp"

namespace hr::bind {
namespace {

thread_local Ref<comm::Communicator> blamed;  // kept alive until the error is raised
thread_local Ref<io::File> blamed_file;
thread_local Ref<comm::Errhandler> blamed_handler;
bool world_serves = true;

// Failed requests of one call.
struct FailedElements {
  int count = 0;
  int first_code = 0;
  Ref<comm::Communicator> first;  // communicator of the first failed element, on which the error is raised
  std::string text;
};
thread_local FailedElements failed_elements;
constexpr int kMostElementsTold = 8;

// Returns the object on which errors without an object are raised.
Object* nobodys() {
  comm::Communicator* const self = comm::self();
  comm::Communicator* const world = comm::world();
  if (!world_serves || self == nullptr || world == nullptr) return self;
  const bool untouched = self->errhandler_.get() == comm::predefined_errhandler(abi::kErrorsAreFatal);
  return untouched ? world : self;
}

bool is_communicator(const Object& object) noexcept {
  return object.is(ObjectKind::kCommunicator) || object.is(ObjectKind::kRevokedCommunicator);
}

comm::Errhandler* handler_of(Object& where) {
  if (is_communicator(where)) return static_cast<comm::Communicator&>(where).errhandler_.get();
  if (where.is(ObjectKind::kSession)) return static_cast<comm::Session&>(where).errhandler_.get();
  if (where.is(ObjectKind::kWindow)) return static_cast<rma::Window&>(where).errhandler_.get();
  if (where.is(ObjectKind::kFile)) return static_cast<io::File&>(where).errhandler_.get();
  return nullptr;
}

// Returns the name of the object, for example as " (MPI_COMM_WORLD)"; empty if it has no name.
std::string place(const Object* where) {
  std::string name;
  if (where != nullptr && is_communicator(*where)) {
    name = static_cast<const comm::Communicator*>(where)->name_;
  } else if (where != nullptr && where->is(ObjectKind::kWindow)) {
    name = static_cast<const rma::Window*>(where)->name_;
  }
  return name.empty() ? std::string() : " (" + name + ")";
}

// Returns the message without function and object: the class, and the detail or, without one, the meaning of the class.
std::string describe(Status status, std::string detail) {
  if (detail.empty()) detail = class_sentence(status.code());
  if (detail.empty()) text_of(status.code(), &detail);
  return class_name(class_of(status.code())) + (detail.empty() ? "" : ": " + detail);
}

// Turns "try again", which must not leave the layers, into an internal error.
Status visible(Status status) { return status.is_again() ? Status(Errc::kIntern) : status; }

// True for codes that programs compare with, and for codes returned by callbacks of the program.
bool stays_bare(Status status, const std::string& detail) {
  const bool compared = status == Errc::kInStatus || status == Errc::kPending || is_failure(status.code());
  const bool from_callback = detail.empty() || class_of(status.code()) != status.code();
  return compared || from_callback;
}

int invoke_on(Object* where, Fallback fallback, int code, const std::string& text) {
  if (where == nullptr && fallback == Fallback::kFile) {
    return comm::invoke(*file_errhandler(), reinterpret_cast<void*>(abi::kFileNull), code, text);
  }
  if (where == nullptr) where = nobodys();
  comm::Errhandler* handler = where != nullptr ? handler_of(*where) : nullptr;
  if (handler == nullptr) handler = comm::predefined_errhandler(abi::kErrorsAreFatal);
  return comm::invoke(*handler, where != nullptr ? where->handle() : nullptr, code, text);
}

// Names of a handle type, for error messages.
struct HandleType {
  ObjectKind kind;
  std::uintptr_t null;
  const char* null_name;
  const char* name;
  Errc error_class;
};
constexpr HandleType kHandleTypes[] = {
    {ObjectKind::kCommunicator, abi::kCommNull, "MPI_COMM_NULL", "MPI_Comm", Errc::kComm},
    {ObjectKind::kGroup, abi::kGroupNull, "MPI_GROUP_NULL", "MPI_Group", Errc::kGroup},
    {ObjectKind::kDatatype, abi::kDatatypeNull, "MPI_DATATYPE_NULL", "MPI_Datatype", Errc::kType},
    {ObjectKind::kOp, abi::kOpNull, "MPI_OP_NULL", "MPI_Op", Errc::kOp},
    {ObjectKind::kInfo, abi::kInfoNull, "MPI_INFO_NULL", "MPI_Info", Errc::kInfo},
    {ObjectKind::kErrhandler, abi::kErrhandlerNull, "MPI_ERRHANDLER_NULL", "MPI_Errhandler", Errc::kErrhandler},
    {ObjectKind::kSession, abi::kSessionNull, "MPI_SESSION_NULL", "MPI_Session", Errc::kSession},
    {ObjectKind::kWindow, abi::kWinNull, "MPI_WIN_NULL", "MPI_Win", Errc::kWin},
    {ObjectKind::kFile, abi::kFileNull, "MPI_FILE_NULL", "MPI_File", Errc::kFile},
};

const HandleType& type_of(ObjectKind kind) {
  for (const HandleType& type : kHandleTypes) {
    if (type.kind == kind) return type;
  }
  return kHandleTypes[0];
}

Status handle_failure(const char* parameter, const char* index, const void* handle, ObjectKind kind) {
  const HandleType& type = type_of(kind);
  if (reinterpret_cast<std::uintptr_t>(handle) == type.null) {
    return fail(type.error_class, "%s%s is %s", parameter, index, type.null_name);
  }
  return fail(type.error_class, "%s%s is %p, which is not a live %s: freed, or never made", parameter, index, handle,
              type.name);
}

Status type_failure(const char* parameter, const char* index, const void* handle) {
  const auto* type = lookup<layout::Datatype>(static_cast<MPI_Datatype>(const_cast<void*>(handle)));
  if (type == nullptr) return handle_failure(parameter, index, handle, ObjectKind::kDatatype);
  return fail(Errc::kType, "%s%s is not committed; call MPI_Type_commit first", parameter, index);
}

// Raises the errors of several elements. The handler's result is ignored, as the call must return MPI_ERR_IN_STATUS.
int raise_elements(const Call& call, Object* where, FailedElements& elements) {
  if (elements.first) where = elements.first.get();
  const int others = elements.count - kMostElementsTold;
  const std::string text = std::string(call.function) + ": MPI_ERR_IN_STATUS: " + elements.text +
                           (others > 0 ? "; and " + std::to_string(others) + " more" : "") + place(where);
  invoke_on(where, call.fallback, elements.first_code, text);
  return Status(Errc::kInStatus).code();
}

// Makes progress even in a call that fails immediately (MPI 5.0 section 3.5): a program may repeat such a call until it
// learns of something else, such as a revocation. Makes none in calls without an object to communicate on, because
// callbacks within a round of progress make such calls.
void make_progress(const Object* where) {
  const bool communicates =
      where != nullptr && (is_communicator(*where) || where->is(ObjectKind::kWindow) || where->is(ObjectKind::kFile));
  if (communicates && runtime::in_use()) p2p::poll();
}

}  // namespace

int raise(const Call& call, Object* where, Status status) {
  const LibraryGuard guard;  // a call that only tests may have entered without the lock
  const Ref<comm::Communicator> better = std::exchange(blamed, {});
  const Ref<io::File> better_file = std::exchange(blamed_file, {});
  const Ref<comm::Errhandler> chosen = std::exchange(blamed_handler, {});
  if (better) where = better.get();
  if (better_file) where = better_file.get();
  status = visible(status);
  if (check::is_on()) status = check::explain(status);
  std::string detail = take_detail();
  FailedElements elements = std::exchange(failed_elements, {});
  make_progress(where);
  if (status == Errc::kInStatus && elements.count > 0) return raise_elements(call, where, elements);
  const bool bare = stays_bare(status, detail);
  const Object* named = where == nullptr && call.fallback == Fallback::kSelf ? nobodys() : where;
  std::string text = std::string(call.function) + ": " + describe(status, std::move(detail)) + place(named);
  const int code = bare ? status.code() : make_instance(status.code(), text);
  if (is_failure(code)) keep_failure_text(code, text);
  if (chosen) {
    Object* const self = comm::self();
    void* const handle = self != nullptr ? self->handle() : reinterpret_cast<void*>(abi::kCommNull);
    return comm::invoke(*chosen, handle, code, text);
  }
  return invoke_on(where, call.fallback, code, text);
}

void blame(Object* where) noexcept {
  if (where->is(ObjectKind::kFile)) {
    blamed_file = Ref<io::File>::share(static_cast<io::File*>(where));
  } else {
    blamed = Ref<comm::Communicator>::share(static_cast<comm::Communicator*>(where));
  }
}
void blame_element(int index, int code) {
  FailedElements& all = failed_elements;
  if (all.count == 0) {
    all.first_code = code;
    all.first = blamed;
  }
  if (all.count++ >= kMostElementsTold) return;
  std::string text;
  text_of(code, &text);
  all.text += (all.count == 1 ? "" : "; ") + ("array_of_requests[" + std::to_string(index) + "]: ") + text;
}
void blame_handler(comm::Errhandler& handler) noexcept { blamed_handler = Ref<comm::Errhandler>::share(&handler); }
void a_session_begins() noexcept { world_serves = false; }

int record(Status status, std::string detail) {
  status = visible(status);
  std::string recorded = take_detail();
  if (detail.empty()) detail = std::move(recorded);
  if (is_failure(status.code()) && !detail.empty()) keep_failure_text(status.code(), describe(status, detail));
  if (stays_bare(status, detail)) return status.code();
  return make_instance(status.code(), describe(status, std::move(detail)));
}

comm::Communicator* lookup_revoked(MPI_Comm handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < kFirstAddress) {
    comm::Communicator* const predefined = comm::predefined_communicator(value);
    return predefined != nullptr && comm::is_revoked(*predefined) ? predefined : nullptr;
  }
  const bool revoked = Arena<comm::Communicator>::instance().owns(handle, ObjectKind::kRevokedCommunicator);
  return revoked ? reinterpret_cast<comm::Communicator*>(handle) : nullptr;
}

int call_errhandler(Object& where, int code) {
  std::string text;
  if (!text_of(code, &text)) text = "error code " + std::to_string(code);
  return invoke_on(&where, Fallback::kSelf, code, text + place(&where));
}

Ref<comm::Errhandler>& file_errhandler() {
  static Ref<comm::Errhandler> handler = Ref<comm::Errhandler>::share(comm::predefined_errhandler(abi::kErrorsReturn));
  return handler;
}

int report_handle(const Call& call, Object* where, const char* parameter, const void* handle, ObjectKind kind) {
  if (kind == ObjectKind::kCommunicator) {
    Object* const revoked = lookup_revoked(static_cast<MPI_Comm>(const_cast<void*>(handle)));
    if (revoked != nullptr) return raise(call, revoked, comm::revoked_error());
  }
  return raise(call, where, handle_failure(parameter, "", handle, kind));
}

int report_type(const Call& call, Object* where, const char* parameter, const void* handle) {
  return raise(call, where, type_failure(parameter, "", handle));
}

int report_type_element(const Call& call, Object* where, const char* parameter, int index, const void* handle) {
  return raise(call, where, type_failure(parameter, ("[" + std::to_string(index) + "]").c_str(), handle));
}

int report_null(const Call& call, Object* where, const char* parameter) {
  return raise(call, where, fail(Errc::kArg, "%s is a null pointer", parameter));
}

int report_negative(const Call& call, Object* where, const char* parameter, long long value, Errc error_class) {
  return raise(call, where, fail(error_class, "%s is %lld; it may not be negative", parameter, value));
}

int report_rank(const Call& call, Object* where, const char* parameter, int value, Errc error_class) {
  const auto& comm = static_cast<const comm::Communicator&>(*where);
  const char* group = comm.is_inter() ? "remote group" : "communicator";
  const int last = comm.peers().size() - 1;
  const Status status =
      last == 0 ? fail(error_class, "%s is %d, but the %s has only rank 0", parameter, value, group)
                : fail(error_class, "%s is %d, but the %s has ranks 0 to %d", parameter, value, group, last);
  return raise(call, where, status);
}

int report_tag(const Call& call, Object* where, const char* parameter, int value, Errc error_class) {
  return raise(call, where,
               fail(error_class, "%s is %d; tags are 0 to %d (MPI_TAG_UB)%s", parameter, value, INT_MAX,
                    value == abi::kAnyTag ? "; MPI_ANY_TAG is for receives and probes" : ""));
}

int report_in_place(const Call& call, Object* where, const char* parameter) {
  return raise(call, where,
               fail(Errc::kBuffer, "%s is MPI_IN_PLACE, which is not permitted for this argument", parameter));
}

int report_too_large(const Call& call, Object* where, const char* parameter, long long value) {
  return raise(call, where,
               fail(Errc::kValueTooLarge, "%s would be %lld, which an int cannot hold; call %s_c", parameter, value,
                    call.function));
}

}  // namespace hr::bind
