// Buffered sends and the buffers attached for them to the process, a communicator or a session (MPI 5.0 section 3.6).
#include "bind/impl.hpp"
#include "bind/impl/request_support.hpp"
#include "comm/failure.hpp"
#include "comm/session.hpp"
#include "p2p/buffered.hpp"
#include "p2p/task.hpp"
#include "p2p/turns.hpp"

namespace hr::bind::impl {
namespace {

// Returns the pool for a buffered send on this communicator: the communicator's own, else the pool of the session it
// was derived from, else the process's (section 3.6).
p2p::BufferPool& pool_for(comm::Communicator& comm) {
  if (comm.buffer_ != nullptr && comm.buffer_->attached()) return *comm.buffer_;
  const std::shared_ptr<p2p::BufferPool>& of_session = comm.local_->session_buffer();
  if (of_session != nullptr && of_session->attached()) return *of_session;
  return p2p::process_buffer();
}

p2p::BufferPool& own_pool(std::shared_ptr<p2p::BufferPool>& slot) {
  if (slot == nullptr) slot = std::make_shared<p2p::BufferPool>();
  return *slot;
}

Status attach(p2p::BufferPool& pool, void* buffer, Count size) {
  if (size < 0)
    return fail(Errc::kArg, "size is %lld, a buffer cannot have less than 0 bytes", static_cast<long long>(size));
  mem::Location where;
  if (buffer != MPI_BUFFER_AUTOMATIC) HR_TRY(mem::classify(buffer, &where));
  if (where.is_device()) {
    return fail(Errc::kBuffer,
                "the buffer %p is memory of device %d; buffered sends copy with the CPU: attach host memory", buffer,
                static_cast<int>(where.device));
  }
  return pool.attach(buffer, size, buffer == MPI_BUFFER_AUTOMATIC);
}

Status detach(p2p::BufferPool& pool, void* buffer_addr, Count& size) {
  return pool.detach(static_cast<void**>(buffer_addr), &size);
}

// A flush in progress. It covers the messages that were in the buffer when it was started (section 3.6; the operation
// is local).
class Flush final : public p2p::TaskResources {
 public:
  explicit Flush(p2p::BufferPool& pool) : pool(&pool), mark(pool.mark()) {}
  explicit Flush(std::shared_ptr<p2p::BufferPool> owned)
      : pool(owned.get()), mark(pool->mark()), alive(std::move(owned)) {}
  [[nodiscard]] const char* what() const noexcept override { return "flush of a buffer"; }
  static bool over(void* flush) {
    const auto* self = static_cast<const Flush*>(flush);
    return self->pool->gone(self->mark);
  }

  p2p::BufferPool* pool;
  std::uint64_t mark;
  std::shared_ptr<p2p::BufferPool> alive;  // null if the pool belongs to the process
};

p2p::Task wait_for(Flush* flush) {
  p2p::When over{&Flush::over, flush};
  const Status status = co_await over;
  co_return status;
}

Status start(std::unique_ptr<Flush> flush, p2p::Request*& request) {
  p2p::Task task = wait_for(flush.get());
  return p2p::run_as_request(std::move(task), std::move(flush), nullptr, &request);
}

class PersistentBuffered final : public p2p::RequestState {
 public:
  PersistentBuffered(const layout::View& data, int proc, const p2p::Envelope& envelope, comm::Communicator& comm)
      : data_(data),
        type_(Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(data.type))),
        proc_(proc),
        envelope_(envelope),
        comm_(&comm) {}
  Status start(p2p::Request& request) override {
    if (comm::is_revoked(*comm_)) return comm::revoked_error();
    HR_TRY(pool_for(*comm_).send(data_, proc_, envelope_));
    request.active_ = true;
    request.finish(p2p::Completion{});
    return kOk;
  }
  // Does nothing: the request is complete as soon as it is started.
  Status cancel(p2p::Request& /*request*/) override { return kOk; }
  [[nodiscard]] const char* what() const noexcept override { return "persistent buffered send"; }

 private:
  layout::View data_;
  Ref<layout::Datatype> type_;
  int proc_;
  p2p::Envelope envelope_;
  comm::Communicator* comm_;  // the request holds the reference
};

}  // namespace

Status check_room(comm::Communicator& comm, std::size_t bytes) { return pool_for(comm).check_room(bytes); }

Status bsend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm) {
  if (dest == abi::kProcNull) {
    p2p::take_turn();
    return kOk;
  }
  layout::View view;
  HR_TRY(layout::make_view(buf, count, datatype, &view));
  return pool_for(comm).send(view, comm.peer_proc(dest), {comm.context(), comm.rank(), tag});
}

Status ibsend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
              p2p::Request*& request) {
  HR_TRY(bsend(buf, count, datatype, dest, tag, comm));
  return done_already(p2p::Completion{}, request);
}

Status bsend_init(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
                  p2p::Request*& request) {
  if (dest == abi::kProcNull) return persistent_nothing(p2p::Completion{}, request);
  layout::View view;
  HR_TRY(layout::make_view(buf, count, datatype, &view));
  request = Arena<p2p::Request>::instance().create(false, comm.context(), comm.rank(), tag, comm.peer_proc(dest));
  if (request == nullptr) return fail(Errc::kNoMem, "no memory for another request");
  request->view_ = view;  // MPIX_Matchall examines the request
  request->persistent_ = true;
  request->active_ = false;
  keep_communicator(*request, comm);
  request->state_ = std::make_unique<PersistentBuffered>(view, comm.peer_proc(dest),
                                                         p2p::Envelope{comm.context(), comm.rank(), tag}, comm);
  return kOk;
}

Status buffer_attach(void* buffer, Count size) { return attach(p2p::process_buffer(), buffer, size); }
Status buffer_detach(void* buffer_addr, Count& size) { return detach(p2p::process_buffer(), buffer_addr, size); }
Status buffer_flush() { return p2p::process_buffer().flush(); }
Status buffer_iflush(p2p::Request*& request) { return start(std::make_unique<Flush>(p2p::process_buffer()), request); }

Status comm_attach_buffer(comm::Communicator& comm, void* buffer, Count size) {
  return attach(own_pool(comm.buffer_), buffer, size);
}
Status comm_detach_buffer(comm::Communicator& comm, void* buffer_addr, Count& size) {
  return detach(own_pool(comm.buffer_), buffer_addr, size);
}
Status comm_flush_buffer(comm::Communicator& comm) { return own_pool(comm.buffer_).flush(); }
Status comm_iflush_buffer(comm::Communicator& comm, p2p::Request*& request) {
  own_pool(comm.buffer_);
  return start(std::make_unique<Flush>(comm.buffer_), request);
}

Status session_attach_buffer(comm::Session& session, void* buffer, Count size) {
  return attach(*session.buffer_, buffer, size);
}
Status session_detach_buffer(comm::Session& session, void* buffer_addr, Count& size) {
  return detach(*session.buffer_, buffer_addr, size);
}
Status session_flush_buffer(comm::Session& session) { return session.buffer_->flush(); }
Status session_iflush_buffer(comm::Session& session, p2p::Request*& request) {
  return start(std::make_unique<Flush>(session.buffer_), request);
}

}  // namespace hr::bind::impl
