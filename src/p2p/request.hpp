// Request: an operation under way, whatever started it (MPI 5.0 sections 3.7, 3.9, 6.12, 13.2).
//
// Point-to-point requests keep their state inline, so that starting one is one arena allocation. Everything else
// (persistent, generalized, collective, partitioned) hangs a RequestState on it.
//
// Owner: reference counted. The program's handle is one reference; while an operation is active the engine holds
// another, so MPI_Request_free on an active request is just a release of the first. A Request holds a reference
// to its datatype until it completes.
// Threads: library lock. `complete` is written last.
#pragma once

#include <memory>
#include <string>

#include "base/abi.hpp"
#include "base/list.hpp"
#include "base/object.hpp"
#include "layout/view.hpp"

namespace hr::mem::cuda {
class Fence;
}

namespace hr::p2p {

// What a completed operation reports; bind/ turns it into an MPI_Status.
struct Completion {
  int source = abi::kAnySource;  // rank in the communicator; the "empty status" of section 3.7.3 by default
  int tag = abi::kAnyTag;
  std::uint64_t bytes = 0;  // packed bytes received
  bool cancelled = false;
  Status error = kOk;  // e.g. MPI_ERR_TRUNCATE
};

class Request;

// What requests other than plain point-to-point ones add.
class RequestState {
 public:
  virtual ~RequestState() = default;
  // Persistent requests: MPI_Start. Others: MPI_ERR_REQUEST.
  virtual Status start(Request& request);
  virtual Status cancel(Request& request);
  // Called when a wait or test is about to report the completion (generalized requests fill it in).
  virtual Status query(Request& request, Completion* completion);
  // Called once a complete request is about to be freed (generalized requests call the program's function).
  virtual Status retire(Request& request);
  // For error texts: "persistent send", "allreduce".
  [[nodiscard]] virtual const char* what() const noexcept = 0;
};

class Request final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kRequest;
  Request() noexcept : Object(kKind) {}
  // A point-to-point operation that begins.
  Request(const layout::View& data, bool is_receive, std::uint32_t context, int source, int tag, int proc) noexcept
      : Object(kKind),
        is_receive_(is_receive),
        view_(data),
        // The type of a pending operation may be freed by the program (section 5.1.9).
        type_(Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(data.type))),
        context_(context),
        source_(source),
        tag_(tag),
        proc_(proc) {}
  ~Request() {
    if (destroy_communicator_ != nullptr && communicator_->drop()) [[unlikely]]
      destroy_communicator_(communicator_);
  }

  [[nodiscard]] bool complete() const noexcept { return complete_; }
  // A persistent request that is not started: waits return at once with an empty status.
  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] bool persistent() const noexcept { return persistent_; }

  // Marks the operation finished; wakes nobody (waiters poll). The text of a failure is kept with the request.
  void finish(const Completion& completion) {
    completion_ = completion;
    if (!completion.error.ok()) [[unlikely]]
      detail_ = take_detail();
    type_ = {};
    phase_ = Phase::kDone;
    complete_ = true;
  }
  // Complete, point-to-point, without an error, and gone when it has been reported: nothing to ask or to tell anybody.
  [[nodiscard]] bool plainly_done() const noexcept {
    return complete_ && active_ && !persistent_ && state_ == nullptr && completion_.error.ok();
  }
  // Errors that come later than the call that started it carry their text here.
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

  bool complete_ = false;
  bool active_ = true;
  bool persistent_ = false;
  bool is_receive_ = false;
  Completion completion_;
  std::string detail_;
  std::unique_ptr<RequestState> state_;
  // Where an error of this operation is raised. With the function, a reference to it is held until the request is
  // destroyed (p2p does not know its type); without, what the request's state holds keeps it alive.
  Object* communicator_ = nullptr;
  void (*destroy_communicator_)(Object*) = nullptr;

  // --- point-to-point state, owned by p2p/ ---
  layout::View view_;
  Ref<layout::Datatype> type_;
  std::uint32_t context_ = 0;
  int source_ = 0;  // receive: wanted source; send: own rank in the communicator
  int tag_ = 0;
  int proc_ = -1;  // peer process; -1 for any
  std::uint64_t peer_cookie_ = 0;
  std::uint64_t peer_address_ = 0;  // receive: of the data in the sender's memory, where it is read there
  std::size_t offset_ = 0;          // bytes of the packed form done
  std::size_t total_ = 0;           // bytes to move
  std::uint64_t sequence_ = 0;      // receives: order of posting
  enum class Phase : std::uint8_t { kIdle, kQueued, kPosted, kWaiting, kMoving, kDone };
  Phase phase_ = Phase::kIdle;
  bool synchronous_ = false;
  enum class Timing : std::uint8_t { kNone, kRead, kStream };
  Timing timing_ = Timing::kNone;  // p2p/single_copy: what a receive that is under way counts for
  // p2p/shared_copy: the receive's word; reading has failed; the send's data is read again, after the first kDone.
  std::uint8_t word_ = 0;
  std::uint32_t generation_ = 0;
  bool unreadable_ = false;
  bool read_again_ = false;
  // Device memory: what the program had put on its default stream before the call. Null: not looked at.
  std::shared_ptr<mem::cuda::Fence> fence_;
  bool engine_reference_ = false;  // the engine holds a reference until completion
  Link link_;                      // posted queue, the engine's copies, or the peer's queue of sends
};

}  // namespace hr::p2p
