// Operations in streams under MPICH's names (documented in include/mpi-ext.h).
#include <mutex>
#include <vector>

#include "mpich/arguments.hpp"
#include "mpich/beyond.hpp"
#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"
#include "mpich/statuses.hpp"

using namespace hr::mpich;  // NOLINT

namespace {

using StandardStream = void*;  // MPIX_Stream of include/mpi-ext.h

// MPICH's MPIX_STREAM_NULL, and the first handle that is assigned.
constexpr int kNullStream = 0x3c000000;
constexpr int kFirstStream = 0x7c000000;

// The streams behind handles; a freed one is null, and its handle is reused.
struct Streams {
  std::mutex mutex;
  std::vector<StandardStream> all;
};
Streams& streams() {
  static auto* const made = new Streams;
  return *made;
}

// An invalid handle becomes an invalid address.
StandardStream stream_in(int handle) {
  if (handle == kNullStream) return nullptr;
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  const auto index = static_cast<std::size_t>(static_cast<unsigned>(handle) - static_cast<unsigned>(kFirstStream));
  const StandardStream found = index < known.all.size() ? known.all[index] : nullptr;
  return found != nullptr ? found : reinterpret_cast<StandardStream>(std::uintptr_t{1});
}

int stream_out(StandardStream stream) {
  if (stream == nullptr) return kNullStream;
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  std::size_t place = known.all.size();
  for (std::size_t i = 0; i < known.all.size(); ++i) {
    if (known.all[i] == stream) return kFirstStream + static_cast<int>(i);
    if (known.all[i] == nullptr) place = i;
  }
  if (place == known.all.size()) known.all.emplace_back();
  known.all[place] = stream;
  return kFirstStream + static_cast<int>(place);
}

void forget(StandardStream stream) {
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  for (StandardStream& each : known.all) {
    if (each == stream) each = nullptr;
  }
}

// While it exists, libmpi_abi.so.1 writes the statuses of the thread's calls in MPICH's form, even if the stream
// reaches the operation much later.
class MpichStatuses {
 public:
  MpichStatuses() { set(sizeof(Status)); }
  ~MpichStatuses() { set(0); }
  MpichStatuses(const MpichStatuses&) = delete;
  MpichStatuses& operator=(const MpichStatuses&) = delete;

  static MPI_Status* in(Status* status) noexcept {
    return status == nullptr || status == kStatusIgnore || setter() == nullptr ? MPI_STATUS_IGNORE
                                                                               : reinterpret_cast<MPI_Status*>(status);
  }

 private:
  using Fill = void(void* status, const MPI_Status* from);
  using Setter = void(Fill* fill, std::size_t bytes);
  // Null if libmpi_abi.so.1 is older: it would write statuses in its own, larger form.
  static Setter* setter() noexcept {
    static Setter* const found = find_beyond<Setter>("hr_enqueue_statuses");
    return found;
  }
  static void fill(void* status, const MPI_Status* from) {
    MPI_Status made = *from;
    made.MPI_ERROR = kNoValue;  // stays as it is (section 3.2.5)
    to_mpich(made, *static_cast<Status*>(status));
  }
  static void set(std::size_t bytes) {
    if (setter() != nullptr) setter()(fill, bytes);
  }
};

}  // namespace

extern "C" {

HR_EXPORT int MPIX_Info_set_hex(int info, const char* key, const void* value, int value_size) {
  return ErrorCode::out(call_beyond("MPIX_Info_set_hex", in<Kind::kInfo>(info), key, value, value_size));
}

HR_EXPORT int MPIX_Stream_create(int info, int* stream) {
  StandardStream made = nullptr;
  const int code = call_beyond("MPIX_Stream_create", in<Kind::kInfo>(info), stream == nullptr ? nullptr : &made);
  if (code == MPI_SUCCESS) *stream = stream_out(made);
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Stream_free(int* stream) {
  StandardStream freed = stream == nullptr ? nullptr : stream_in(*stream);
  const StandardStream before = freed;
  const int code = call_beyond("MPIX_Stream_free", stream == nullptr ? nullptr : &freed);
  if (code == MPI_SUCCESS) {
    forget(before);
    *stream = kNullStream;
  }
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Stream_comm_create(int comm, int stream, int* newcomm) {
  HandleOut<Kind::kComm> made(newcomm);
  const int code = call_beyond("MPIX_Stream_comm_create", in<Kind::kComm>(comm), stream_in(stream), made.argument());
  made.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_get_stream(int comm, int idx, int* stream) {
  StandardStream found = nullptr;
  const int code =
      call_beyond("MPIX_Comm_get_stream", in<Kind::kComm>(comm), idx, stream == nullptr ? nullptr : &found);
  if (code == MPI_SUCCESS) *stream = stream_out(found);
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Stream_progress(int stream) {
  return ErrorCode::out(call_beyond("MPIX_Stream_progress", stream_in(stream)));
}

HR_EXPORT int MPIX_Start_progress_thread(int stream) {
  return ErrorCode::out(call_beyond("MPIX_Start_progress_thread", stream_in(stream)));
}

HR_EXPORT int MPIX_Stop_progress_thread(int stream) {
  return ErrorCode::out(call_beyond("MPIX_Stop_progress_thread", stream_in(stream)));
}

HR_EXPORT int MPIX_Send_enqueue(const void* buf, int count, int datatype, int dest, int tag, int comm) {
  return ErrorCode::out(call_beyond("MPIX_Send_enqueue", buffer_in(buf), count, in<Kind::kDatatype>(datatype),
                                    Rank::in(dest), Tag::in(tag), in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Recv_enqueue(void* buf, int count, int datatype, int source, int tag, int comm, Status* status) {
  const MpichStatuses statuses;
  return ErrorCode::out(call_beyond("MPIX_Recv_enqueue", buffer_in(buf), count, in<Kind::kDatatype>(datatype),
                                    Rank::in(source), Tag::in(tag), in<Kind::kComm>(comm), MpichStatuses::in(status)));
}

HR_EXPORT int MPIX_Isend_enqueue(const void* buf, int count, int datatype, int dest, int tag, int comm, int* request) {
  HandleOut<Kind::kRequest> started(request);
  const int code = call_beyond("MPIX_Isend_enqueue", buffer_in(buf), count, in<Kind::kDatatype>(datatype),
                               Rank::in(dest), Tag::in(tag), in<Kind::kComm>(comm), started.argument());
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Irecv_enqueue(void* buf, int count, int datatype, int source, int tag, int comm, int* request) {
  HandleOut<Kind::kRequest> started(request);
  const int code = call_beyond("MPIX_Irecv_enqueue", buffer_in(buf), count, in<Kind::kDatatype>(datatype),
                               Rank::in(source), Tag::in(tag), in<Kind::kComm>(comm), started.argument());
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, int datatype, int op, int comm) {
  return ErrorCode::out(call_beyond("MPIX_Allreduce_enqueue", buffer_in(sendbuf), buffer_in(recvbuf), count,
                                    in<Kind::kDatatype>(datatype), in<Kind::kOp>(op), in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Wait_enqueue(int* request, Status* status) {
  const MpichStatuses statuses;
  HandleInOut<Kind::kRequest> object(request);
  const int code = call_beyond("MPIX_Wait_enqueue", object.argument(), MpichStatuses::in(status));
  if (request != nullptr) object.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Waitall_enqueue(int count, int* array_of_requests, Status* array_of_statuses) {
  const MpichStatuses statuses;
  HandlesInOut<Kind::kRequest> objects(array_of_requests, count);
  const int code = call_beyond("MPIX_Waitall_enqueue", count, objects.argument(), MpichStatuses::in(array_of_statuses));
  objects.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Startall_enqueue(int count, int* array_of_requests, int comm) {
  HandlesInOut<Kind::kRequest> objects(array_of_requests, count);
  return ErrorCode::out(call_beyond("MPIX_Startall_enqueue", count, objects.argument(), in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Runall_enqueue(int count, int* array_of_requests, int comm) {
  HandlesInOut<Kind::kRequest> objects(array_of_requests, count);
  return ErrorCode::out(call_beyond("MPIX_Runall_enqueue", count, objects.argument(), in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Matchall(int count, int* array_of_requests) {
  HandlesInOut<Kind::kRequest> objects(array_of_requests, count);
  return ErrorCode::out(call_beyond("MPIX_Matchall", count, objects.argument()));
}
}
