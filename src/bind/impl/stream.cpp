// Operations in streams (include/mpi-ext.h).
#pragma GCC visibility push(default)
#include "mpi-ext.h"
#pragma GCC visibility pop

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "bind/impl/completion.hpp"
#include "bind/impl/extension_entry.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/status.hpp"
#include "enqueue/enqueue.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"

namespace hr::bind {
namespace {

using enqueue::Stream;

// Calls body(), and raises its error on `where`. The caller holds the library lock.
template <class Body>
int enter(const Call& call, Object* where, const Body& body) {
  const Status status = body();
  return status.ok() ? MPI_SUCCESS : raise(call, where, status);
}

// Calls body(comm) for a communicator.
template <class Body>
int enter_on(const Call& call, MPI_Comm handle, const Body& body) {
  return enter_with(call, handle, [](MPI_Comm comm) { return lookup<comm::Communicator>(comm); }, body);
}

// Arguments, as the checker sees them.
Argument read(const char* name, const void* buffer) { return Argument::memory(name, buffer, Argument::Use::kRead); }
Argument written(const char* name, const void* buffer) {
  return Argument::memory(name, buffer, Argument::Use::kWritten);
}
Argument for_host(const char* name, const void* statuses) {
  return Argument::memory(name, statuses, Argument::Use::kForHost);
}
Argument of_type(MPI_Datatype type) { return Argument::handle("datatype", type, ObjectKind::kDatatype); }
Argument on(MPI_Comm comm) { return Argument::handle("comm", comm, ObjectKind::kCommunicator); }
Argument made(const char* name, const void* handle, ObjectKind kind) {
  return Argument::handles(name, handle, Argument::Use::kMade, kind, 1);
}
Argument requests(const char* name, const MPI_Request* handles, int count) {
  return Argument::handles(name, handles, Argument::Use::kChanged, ObjectKind::kRequest, count);
}

Status find_stream(MPIX_Stream handle, Stream** stream) {
  *stream = nullptr;
  if (handle == MPIX_STREAM_NULL) return kOk;
  if (Arena<Stream>::instance().owns(handle)) {
    *stream = reinterpret_cast<Stream*>(handle);
    return kOk;
  }
  return fail(Errc::kArg, "stream is %p, which is not a live MPIX_Stream: freed, or never made",
              static_cast<void*>(handle));
}

Status find_type(MPI_Datatype handle, layout::Datatype** type) {
  *type = committed(handle);
  if (*type != nullptr) return kOk;
  return fail(Errc::kType,
              lookup<layout::Datatype>(handle) == nullptr ? "datatype is %p, which is not a live MPI_Datatype"
                                                          : "datatype %p is not committed; call MPI_Type_commit first",
              static_cast<void*>(handle));
}

Status check_count(int count) {
  return count >= 0 ? kOk : Status(fail(Errc::kCount, "count is %d; it must not be negative", count));
}

Status check_send(int count, MPI_Datatype datatype, int dest, int tag, const comm::Communicator& comm,
                  layout::Datatype** type) {
  HR_TRY(check_count(count));
  HR_TRY(find_type(datatype, type));
  if (!dest_ok(dest, comm)) return fail(Errc::kRank, "dest is %d in a communicator of %d processes", dest, comm.size());
  return tag_ok(tag) ? kOk : Status(fail(Errc::kTag, "tag is %d; it must not be negative", tag));
}

Status check_receive(int count, MPI_Datatype datatype, int source, int tag, const comm::Communicator& comm,
                     layout::Datatype** type) {
  HR_TRY(check_count(count));
  HR_TRY(find_type(datatype, type));
  if (!source_ok(source, comm))
    return fail(Errc::kRank, "source is %d in a communicator of %d processes", source, comm.size());
  return any_tag_ok(tag) ? kOk : Status(fail(Errc::kTag, "tag is %d; it must not be negative", tag));
}

// Form of the statuses of the thread's current call. 0 bytes: the standard's; else that of MPICH's ABI, which
// hr_enqueue_statuses() has set.
using FillStatus = void(void* status, const MPI_Status* from);
std::atomic<FillStatus*> fill_other = nullptr;
thread_local std::size_t other_bytes = 0;

enqueue::StatusSink sink_of(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return {};
  if (other_bytes == 0) {
    return {[](void* to, const p2p::Completion& completion) { fill_status(*static_cast<MPI_Status*>(to), completion); },
            status};
  }
  return {[](void* to, const p2p::Completion& completion) {
            MPI_Status made;
            set_empty(made);
            fill_status(made, completion);
            fill_other.load(std::memory_order_relaxed)(to, &made);
          },
          status};
}

MPI_Status* status_at(MPI_Status* all, int index) {
  if (all == MPI_STATUSES_IGNORE) return MPI_STATUS_IGNORE;
  if (other_bytes == 0) return &all[index];
  return reinterpret_cast<MPI_Status*>(reinterpret_cast<std::byte*>(all) +
                                       static_cast<std::size_t>(index) * other_bytes);
}

void report_empty(MPI_Status* status) {
  if (other_bytes == 0) return impl::report_empty(status);
  const enqueue::StatusSink sink = sink_of(status);
  if (sink.report != nullptr) sink.report(sink.status, {});
}

bool is_nothing(const p2p::Request* request) {
  return request == nullptr || (!request->active() && !request->persistent() && request->state_ == nullptr);
}

void drop_waited(MPI_Request* handle, p2p::Request* request) {
  if (!enqueue::wait_releases(*request)) return;
  *handle = MPI_REQUEST_NULL;
  p2p::release_request(request);
}

Status wait_for(MPI_Request* handle, int index, MPI_Status* status) {
  p2p::Request* request = nullptr;
  HR_TRY(impl::find_request(*handle, index, &request));
  if (is_nothing(request)) {
    report_empty(status);
    return kOk;
  }
  HR_TRY(impl::raised_for(*request, enqueue::wait(*request, sink_of(status))));
  drop_waited(handle, request);
  return kOk;
}

// Fails if a request stands twice in an array. `index_of(i)`: the place of requests[i] in the program's array.
template <class Index>
Status check_distinct(std::span<p2p::Request* const> requests, const Index& index_of) {
  if (requests.size() < 2) return kOk;
  std::vector<std::pair<p2p::Request*, std::size_t>> sorted;
  sorted.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) sorted.emplace_back(requests[i], i);
  std::ranges::sort(sorted);
  std::size_t first = 0, again = requests.size();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first != sorted[i - 1].first || sorted[i].second >= again) continue;
    first = sorted[i - 1].second;
    again = sorted[i].second;
  }
  if (again == requests.size()) return kOk;
  return fail(Errc::kRequest,
              "array_of_requests[%d] is the same request as array_of_requests[%d]: name each request once in a call",
              index_of(again), index_of(first));
}

// Enqueues as many of the waits as possible together, and then the others one at a time, so that an error does not
// prevent the waits that are valid.
Status wait_for_all(int count, MPI_Request* handles, MPI_Status* statuses) {
  std::vector<enqueue::Waiting> all;
  std::vector<p2p::Request*> requests;
  std::vector<int> index;
  for (int i = 0; i < count; ++i) {
    p2p::Request* request = nullptr;
    HR_TRY(impl::find_request(handles[i], i, &request));
    if (is_nothing(request)) continue;
    all.push_back({request, sink_of(status_at(statuses, i)), false});
    requests.push_back(request);
    index.push_back(i);
  }
  Status status = check_distinct(requests, [&](std::size_t i) { return index[i]; });
  if (!status.ok()) return impl::raised_for(*requests.front(), status);
  status = enqueue::wait_together(all);
  if (!all.empty()) status = impl::raised_for(*all.back().request, status);
  std::vector<bool> done(static_cast<std::size_t>(count), false);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!all[k].done) continue;
    done[static_cast<std::size_t>(index[k])] = true;
    drop_waited(&handles[index[k]], all[k].request);
  }
  if (!status.ok()) return status;
  for (int i = 0; i < count; ++i) {
    if (!done[static_cast<std::size_t>(i)]) HR_TRY(wait_for(&handles[i], i, status_at(statuses, i)));
  }
  return kOk;
}

Status find_all(int count, const MPI_Request* handles, std::vector<p2p::Request*>* requests) {
  HR_TRY(check_count(count));
  if (handles == nullptr && count > 0) return null_pointer("array_of_requests");
  for (int i = 0; i < count; ++i) {
    p2p::Request* request = nullptr;
    HR_TRY(impl::find_request(handles[i], i, &request));
    if (request == nullptr || !request->persistent()) {
      return fail(Errc::kRequest, "array_of_requests[%d] is %s", i,
                  request == nullptr ? "MPI_REQUEST_NULL" : "not persistent: make it with MPI_Send_init or the like");
    }
    if (request->operation_ != nullptr) {
      return fail(Errc::kRequest,
                  "array_of_requests[%d] belongs to a communicator without a stream, whose messages a channel of the "
                  "program's threads carries: make it on the communicator of MPIX_Stream_comm_create, or set "
                  "HEADRACE_CHANNELS=1",
                  i);
    }
    requests->push_back(request);
  }
  return check_distinct(*requests, [](std::size_t i) { return static_cast<int>(i); });
}

}  // namespace
}  // namespace hr::bind

using namespace hr;        // NOLINT
using namespace hr::bind;  // NOLINT

// For libmpi.so.12: until the next call, the thread's statuses are those of MPICH's ABI, each of `bytes` bytes, which
// fill() writes, perhaps in another thread. 0 bytes: those of the standard again.
extern "C" __attribute__((visibility("default"))) void hr_enqueue_statuses(FillStatus* fill, std::size_t bytes) {
  fill_other.store(fill, std::memory_order_relaxed);
  other_bytes = bytes;
}

int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size) {
  static constexpr Call kCall{"MPIX_Info_set_hex"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) { return check({Argument::handle("info", info, ObjectKind::kInfo)}); },
      [&] {
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          auto* const object = lookup<comm::Info>(info);
          if (object == nullptr)
            return fail(Errc::kInfo, "info is %p, which is not a live MPI_Info", static_cast<void*>(info));
          if (key == nullptr) return null_pointer("key");
          if (value == nullptr) return null_pointer("value");
          if (value_size <= 0) return fail(Errc::kArg, "value_size is %d; it must be positive", value_size);
          return object->set(
              key, enqueue::hex_of({static_cast<const std::byte*>(value), static_cast<std::size_t>(value_size)}));
        });
      });
}

int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream) {
  static constexpr Call kCall{"MPIX_Stream_create"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({Argument::handle("info", info, ObjectKind::kInfo), made("stream", stream, ObjectKind::kStream)});
      },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          if (stream == nullptr) return null_pointer("stream");
          auto* const hints = lookup<comm::Info>(info);
          if (hints == nullptr && info != MPI_INFO_NULL)
            return fail(Errc::kInfo, "info is %p, which is not a live MPI_Info", static_cast<void*>(info));
          Ref<Stream> made;
          HR_TRY(enqueue::create_stream(hints, &made));
          *stream = reinterpret_cast<MPIX_Stream>(made.detach()->handle());
          return kOk;
        });
      });
}

int MPIX_Stream_free(MPIX_Stream* stream) {
  static constexpr Call kCall{"MPIX_Stream_free"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({Argument::handles("stream", stream, Argument::Use::kChanged, ObjectKind::kStream, 1)});
      },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          if (stream == nullptr) return null_pointer("stream");
          Stream* found = nullptr;
          HR_TRY(find_stream(*stream, &found));
          if (found == nullptr) return fail(Errc::kArg, "stream is MPIX_STREAM_NULL");
          // Communicators that use the stream keep it alive.
          *stream = MPIX_STREAM_NULL;
          release(found);
          return kOk;
        });
      });
}

int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm) {
  static constexpr Call kCall{"MPIX_Stream_comm_create"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) { return check({on(comm), made("newcomm", newcomm, ObjectKind::kCommunicator)}); },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          if (newcomm == nullptr) return null_pointer("newcomm");
          Stream* found = nullptr;
          HR_TRY(find_stream(stream, &found));
          if (found != nullptr && found->has_device()) {
            runtime::enable_threads();
            HR_TRY(p2p::progress_thread::start_for_streams());
          }
          Ref<comm::Communicator> made;
          HR_TRY(enqueue::create_communicator(object, found, &made));
          *newcomm = handle_of(made.detach());
          return kOk;
        });
      });
}

int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream) {
  static constexpr Call kCall{"MPIX_Comm_get_stream"};
  return look_first(
      kCall, __builtin_return_address(0), [&](auto check) { return check({on(comm)}); },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) -> Status {
          if (stream == nullptr) return null_pointer("stream");
          if (idx != 0) return fail(Errc::kArg, "idx is %d; a communicator has at most one stream, with idx 0", idx);
          Stream* const found = enqueue::stream_of(object);
          *stream = found == nullptr ? MPIX_STREAM_NULL : reinterpret_cast<MPIX_Stream>(found->handle());
          return kOk;
        });
      });
}

int MPIX_Stream_progress(MPIX_Stream stream) {
  static constexpr Call kCall{"MPIX_Stream_progress"};
  return look_first(
      kCall, __builtin_return_address(0), [&](auto check) { return check({}); },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          Stream* found = nullptr;
          HR_TRY(find_stream(stream, &found));
          p2p::poll();
          return kOk;
        });
      });
}

int MPIX_Start_progress_thread(MPIX_Stream stream) {
  static constexpr Call kCall{"MPIX_Start_progress_thread"};
  return look_first(
      kCall, __builtin_return_address(0), [&](auto check) { return check({}); },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          Stream* found = nullptr;
          HR_TRY(find_stream(stream, &found));
          runtime::enable_threads();
          return p2p::progress_thread::start_for_streams();
        });
      });
}

int MPIX_Stop_progress_thread(MPIX_Stream stream) {
  static constexpr Call kCall{"MPIX_Stop_progress_thread"};
  return look_first(
      kCall, __builtin_return_address(0), [&](auto check) { return check({}); },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          Stream* found = nullptr;
          return find_stream(stream, &found);
        });
      });
}

int MPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Send_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({read("buf", buf), Argument::number("count", count), of_type(datatype),
                      Argument::number("dest", dest), Argument::number("tag", tag), on(comm)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          layout::Datatype* type = nullptr;
          HR_TRY(check_send(count, datatype, dest, tag, object, &type));
          return enqueue::send(buf, count, *type, dest, tag, object, nullptr);
        });
      });
}

int MPIX_Isend_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                       MPI_Request* request) {
  static constexpr Call kCall{"MPIX_Isend_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({read("buf", buf), Argument::number("count", count), of_type(datatype),
                      Argument::number("dest", dest), Argument::number("tag", tag), on(comm),
                      made("request", request, ObjectKind::kRequest)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          layout::Datatype* type = nullptr;
          p2p::Request* made = nullptr;
          if (request == nullptr) return null_pointer("request");
          HR_TRY(check_send(count, datatype, dest, tag, object, &type));
          HR_TRY(enqueue::send(buf, count, *type, dest, tag, object, &made));
          *request = handle_of(made);
          return kOk;
        });
      });
}

int MPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status* status) {
  static constexpr Call kCall{"MPIX_Recv_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({written("buf", buf), Argument::number("count", count), of_type(datatype),
                      Argument::number("source", source), Argument::number("tag", tag), on(comm),
                      for_host("status", status)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          layout::Datatype* type = nullptr;
          HR_TRY(check_receive(count, datatype, source, tag, object, &type));
          return enqueue::receive(buf, count, *type, source, tag, object, sink_of(status), nullptr);
        });
      });
}

int MPIX_Irecv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request* request) {
  static constexpr Call kCall{"MPIX_Irecv_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({written("buf", buf), Argument::number("count", count), of_type(datatype),
                      Argument::number("source", source), Argument::number("tag", tag), on(comm),
                      made("request", request, ObjectKind::kRequest)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          layout::Datatype* type = nullptr;
          p2p::Request* made = nullptr;
          if (request == nullptr) return null_pointer("request");
          HR_TRY(check_receive(count, datatype, source, tag, object, &type));
          HR_TRY(enqueue::receive(buf, count, *type, source, tag, object, {}, &made));
          *request = handle_of(made);
          return kOk;
        });
      });
}

int MPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Allreduce_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({read("sendbuf", sendbuf), written("recvbuf", recvbuf), Argument::number("count", count),
                      of_type(datatype), Argument::handle("op", op, ObjectKind::kOp), on(comm)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          layout::Datatype* type = nullptr;
          HR_TRY(check_count(count));
          HR_TRY(find_type(datatype, &type));
          auto* const operation = lookup<layout::Op>(op);
          if (operation == nullptr)
            return fail(Errc::kOp, "op is %p, which is not a live MPI_Op", static_cast<void*>(op));
          if (recvbuf == MPI_IN_PLACE && count != 0) return fail(Errc::kBuffer, "recvbuf is MPI_IN_PLACE");
          return enqueue::allreduce(sendbuf, recvbuf, count, *type, *operation, object);
        });
      });
}

int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status) {
  static constexpr Call kCall{"MPIX_Wait_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) { return check({requests("request", request, 1), for_host("status", status)}); },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr,
                     [&] { return request == nullptr ? null_pointer("request") : wait_for(request, -1, status); });
      });
}

int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  static constexpr Call kCall{"MPIX_Waitall_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({Argument::number("count", count), requests("array_of_requests", array_of_requests, count),
                      for_host("array_of_statuses", array_of_statuses)});
      },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&]() -> Status {
          HR_TRY(check_count(count));
          if (array_of_requests == nullptr && count > 0) return null_pointer("array_of_requests");
          return wait_for_all(count, array_of_requests, array_of_statuses);
        });
      });
}

int MPIX_Startall_enqueue(int count, MPI_Request array_of_requests[], MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Startall_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check(
            {Argument::number("count", count), requests("array_of_requests", array_of_requests, count), on(comm)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          std::vector<p2p::Request*> requests;
          HR_TRY(find_all(count, array_of_requests, &requests));
          return enqueue::start_all(requests, object);
        });
      });
}

int MPIX_Runall_enqueue(int count, MPI_Request array_of_requests[], MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Runall_enqueue"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check(
            {Argument::number("count", count), requests("array_of_requests", array_of_requests, count), on(comm)});
      },
      [&] {
        return enter_on(kCall, comm, [&](comm::Communicator& object) {
          std::vector<p2p::Request*> requests;
          HR_TRY(find_all(count, array_of_requests, &requests));
          return enqueue::run_all(requests, object);
        });
      });
}

int MPIX_Matchall(int count, MPI_Request array_of_requests[]) {
  static constexpr Call kCall{"MPIX_Matchall"};
  return look_first(
      kCall, __builtin_return_address(0),
      [&](auto check) {
        return check({Argument::number("count", count), requests("array_of_requests", array_of_requests, count)});
      },
      [&] {
        check_ready(kCall);
        const LibraryGuard guard;
        return enter(kCall, nullptr, [&] {
          std::vector<p2p::Request*> requests;
          HR_TRY(find_all(count, array_of_requests, &requests));
          const Status status = enqueue::match_all(requests);
          return requests.empty() ? status : impl::raised_for(*requests.front(), status);
        });
      });
}
