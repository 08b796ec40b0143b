// Request: a pending operation, regardless of its kind (MPI 5.0 sections 3.7, 3.9, 6.12, 13.2).
//
// Point-to-point requests keep their state inline, so that starting one is one arena allocation. All other requests
// (persistent, generalized, collective, partitioned) carry a RequestState.
//
// Owner: reference counted. The program's handle is one reference; while an operation is active the engine holds
// another, so MPI_Request_free on an active request releases only the first. A Request holds a reference to its
// datatype until it completes.
// Threads: library lock; for a request of another channel (channel.hpp), that channel's lock. complete() may be called
// without the lock (its flag is written last; reading anything else needs the lock), and so may active() and
// persistent(), which change only in calls of the program with this request.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/abi.hpp"
#include "base/list.hpp"
#include "base/object.hpp"
#include "layout/view.hpp"

namespace hr::p2p {

struct Rendezvous;        // rendezvous.hpp
class Autotune;           // autotune.hpp
struct ChannelOperation;  // channel.hpp

// State that a protocol keeps for a message that it moves. Owner: the request, until it ends or another protocol takes
// over.
class Transfer {
 public:
  explicit Transfer(const Rendezvous& protocol) noexcept : protocol_(&protocol) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  [[nodiscard]] bool is_of(const Rendezvous& protocol) const noexcept { return protocol_ == &protocol; }

 private:
  const Rendezvous* protocol_;
};

// Result of a completed operation; bind/ turns it into an MPI_Status.
struct Completion {
  int source = abi::kAnySource;  // rank in the communicator; the "empty status" of section 3.7.3 by default
  int tag = abi::kAnyTag;
  std::uint64_t bytes = 0;  // packed bytes received
  bool cancelled = false;
  Status error = kOk;  // e.g. MPI_ERR_TRUNCATE
};

class Request;

// State of a request that is not plain point-to-point.
class RequestState {
 public:
  virtual ~RequestState() = default;
  // Starts a persistent request (MPI_Start). Errors: MPI_ERR_REQUEST for other requests.
  virtual Status start(Request& request);
  virtual Status cancel(Request& request);
  // Makes later starts of a persistent request independent of the default stream (mem/independent.hpp).
  virtual void become_independent() {}
  // Ends its messages that can no longer complete, as end_if_others_left() does (p2p.hpp); true if there were any.
  virtual bool end_if_left(bool blocked);
  // Returns kOk if the program may free the request while the operation is pending. The operation then continues
  // without its handle.
  [[nodiscard]] virtual Status may_free() const;
  // Called when a wait or test is about to report the completion (generalized requests fill it in).
  virtual Status query(Request& request, Completion* completion);
  // Called once a complete request is about to be freed (generalized requests call the program's function).
  virtual Status retire(Request& request);
  // Name for error messages: "persistent send", "allreduce".
  [[nodiscard]] virtual const char* what() const noexcept = 0;
};

class alignas(64) Request final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kRequest;
  Request() noexcept : Object(kKind) {}
  // Begins a point-to-point operation; the caller must set view_ and type_.
  Request(bool is_receive, std::uint32_t context, int source, int tag, int proc) noexcept
      : Object(kKind), is_receive_(is_receive), context_(context), source_(source), tag_(tag), proc_(proc) {}
  ~Request() { drop_communicator(); }

  void drop_communicator() noexcept {
    Object* const communicator = std::exchange(communicator_, nullptr);
    const auto destroy = std::exchange(destroy_communicator_, nullptr);
    if (destroy != nullptr && communicator->drop()) [[unlikely]]
      destroy(communicator);
  }

  [[nodiscard]] bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  // False for a persistent request that is not started: waits return immediately with an empty status.
  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] bool persistent() const noexcept { return persistent_; }

  // Marks the operation finished; wakes no thread (waiters poll). The error text of a failure stays with the request.
  void finish(const Completion& completion) {
    completion_ = completion;
    if (!completion.error.ok()) [[unlikely]]
      detail_ = take_detail();
    type_ = {};
    phase_ = Phase::kDone;
    complete_.store(true, std::memory_order_release);
  }
  // Marks the operation as pending again.
  void begin() noexcept { complete_.store(false, std::memory_order_relaxed); }
  // True for a point-to-point request that is complete without an error and is freed once it is reported: there is no
  // function of a RequestState to call, and no error to raise.
  [[nodiscard]] bool completed_locally() const noexcept {
    return complete() && active_ && !persistent_ && state_ == nullptr && completion_.error.ok();
  }
  // Returns the text of an error that occurred after the call that started the operation.
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

  // --- fields that every message touches: three cache lines, in the order of their use ---
  enum class Phase : std::uint8_t { kIdle, kQueued, kPosted, kWaiting, kMoving, kDone };
  std::atomic<bool> complete_ = false;
  bool active_ = true;
  bool persistent_ = false;
  bool is_receive_ = false;
  Phase phase_ = Phase::kIdle;
  bool engine_reference_ = false;  // the engine holds a reference until completion
  bool synchronous_ = false;
  bool recyclable_ = false;       // receive into contiguous host memory: the next such receive overwrites every field
                                  // that this one sets
  Autotune* autotune_ = nullptr;  // receive of a rendezvous: the autotuning that is timing it
  Link link_;                     // posted queue, or the peer's queue of sends
  std::uint32_t context_ = 0;
  int source_ = 0;  // receive: wanted source; send: own rank in the communicator
  int tag_ = 0;
  int proc_ = -1;               // peer process; -1 for any
  std::uint64_t sequence_ = 0;  // receives: order of posting
  Completion completion_;
  Ref<layout::Datatype> type_;
  // Object on which an error of this operation is raised. If the function is set, the request holds a reference until
  // it is destroyed (p2p does not know the object's type); otherwise the request's state keeps it alive.
  Object* communicator_ = nullptr;
  void (*destroy_communicator_)(Object*) = nullptr;
  std::unique_ptr<RequestState> state_;
  ChannelOperation* operation_ = nullptr;  // always set in requests of a channel other than 0
  layout::View view_;

  // --- Other point-to-point state, owned by p2p/ ---
  std::uint64_t peer_cookie_ = 0;
  std::size_t offset_ = 0;              // bytes of the packed form already moved
  std::size_t total_ = 0;               // bytes to move
  std::unique_ptr<Transfer> transfer_;  // state of a rendezvous, if its protocol needs one
  std::string detail_;

  // True once there have been requests of channels other than 0. Threads: any.
  [[nodiscard]] static bool of_channels() noexcept { return of_channels_.load(std::memory_order_relaxed); }
  static inline std::atomic<bool> of_channels_{false};
};

// Releases the program's reference to a reported request. A receive into contiguous host memory is kept for reuse.
inline void release_request(Request* request) {
  if (!request->drop()) return;
  if (!request->recyclable_ || !request->completion_.error.ok()) [[unlikely]]
    return Arena<Request>::instance().destroy(request);
  request->drop_communicator();
  request->type_ = {};  // the program may have freed the type
  Arena<Request>::instance().recycle(request);
}

}  // namespace hr::p2p
