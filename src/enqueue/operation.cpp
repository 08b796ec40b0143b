#include "enqueue/operation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/lock.hpp"
#include "base/statistics.hpp"
#include "boot/boot.hpp"
#include "comm/agree.hpp"
#include "comm/create.hpp"
#include "mem/device/device_links.hpp"
#include "p2p/progress.hpp"

namespace hr::enqueue {

using mem::device::ProgramStream;
using mem::device::StreamOperation;

LayerState<State> state;

namespace {

// Maximum number of operations enqueued in one stream and not started; beyond it, the call waits. The driver's queue
// holds about as many; when it is full, the driver blocks the calling thread.
constexpr std::size_t kMostQueued = 512;

// Maximum number of streams in which kernels wait at the same time. Each kernel has a few blocks, so together they
// cannot fill the device. Other streams wait without kernels.
constexpr int kMostWaitingStreams = 8;
// Context offset for the allgather of device IDs; follows the uses in comm::ContextUse.
constexpr std::uint32_t kDeviceContext = comm::kSurvivorsContext + 3;

// Collective. *own: set to true if all processes of the communicator have streams, each of a different device.
Status find_own_devices(comm::Communicator& comm, const Stream* stream, bool* own) {
  constexpr int kTag = 0;
  *own = false;
  if (comm.is_inter()) return kOk;
  const comm::Group& group = *comm.local_;
  mem::device::Context* const context = stream != nullptr && stream->has_device() ? stream->device_.context() : nullptr;
  const std::uint64_t device = context == nullptr ? 0 : mem::device::identity_of(context->device());
  std::vector<std::uint64_t> all(static_cast<std::size_t>(group.size()));
  HR_TRY(p2p::run_blocking(
      comm::allgather({group.procs(), group.size(), group.rank(), comm.context() + kDeviceContext, kTag}, &device,
                      sizeof device, reinterpret_cast<std::byte*>(all.data()))));
  std::set<std::pair<int, std::uint64_t>> devices;
  *own = true;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::uint64_t each = all[static_cast<std::size_t>(rank)];
    const int host = boot::processes().host_of(comm.peer_proc(rank));
    *own = *own && each != 0 && devices.emplace(host, each).second;
  }
  return kOk;
}

void destroy_communicator(Object* communicator) {
  Arena<comm::Communicator>::instance().destroy(static_cast<comm::Communicator*>(communicator));
}

// A request of the program for an enqueued operation.
class EnqueuedState final : public p2p::RequestState {
 public:
  explicit EnqueuedState(OperationPointer operation) : operation_(std::move(operation)) {}
  Status cancel(p2p::Request& /*request*/) override {
    return fail(Errc::kRequest, "an enqueued operation cannot be cancelled");
  }
  [[nodiscard]] const char* what() const noexcept override { return "enqueued operation"; }

  OperationPointer operation_;
};

// Calls the driver without the library lock, and keeps its error message.
template <class Driver>
Status unlocked(const Driver& call) {
  const int depth = LibraryLock::suspend();
  const Status status = call();
  std::string why = status.ok() ? std::string() : take_detail();
  LibraryLock::resume(depth);
  if (!status.ok()) set_detail(std::move(why));
  return status;
}

// Submits work to the device without the library lock: the driver may wait for space in the stream, and only this
// library can keep the stream moving. The queue keeps the order in which threads append.
Status append_unlocked(Stream& stream, std::span<StreamOperation> work) {
  return unlocked([&] { return stream.device_.append(work); });
}

class Appending {
 public:
  explicit Appending(Stream& stream) : stream_(stream) {
    static_cast<void>(p2p::wait_until([&] { return !stream.appending_; }));
    stream_.appending_ = true;
  }
  ~Appending() { stream_.appending_ = false; }
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;

 private:
  Stream& stream_;
};

// Memory for the work of one call, kept for later calls of the thread.
std::vector<StreamOperation>& work_of_call() {
  static thread_local std::vector<StreamOperation> work;
  work.clear();
  return work;
}

void add_wait(const Operation& operation, std::vector<StreamOperation>& work) {
  const Place& place = operation.place_;
  work.push_back(operation.stream_->device_.wait(place.done(), place.number));
  // A graph waits again on its next launch.
  if (operation.captured()) work.push_back(ProgramStream::write(place.done(), place.number - 1));
}

}  // namespace

Operation::~Operation() {
  if (watcher != nullptr) watcher->dropped(this);
  if (outer_ != nullptr) p2p::release_request(outer_);
}

// --- communicators ---

Attached::~Attached() {
  if (state == nullptr) return;
  std::erase(state->communicators, this);
  // The program may destroy the stream now, unless it has other communicators.
  if (std::ranges::none_of(state->communicators,
                           [&](const Attached* each) { return each->stream_.get() == stream_.get(); })) {
    std::erase_if(state->persistent, [&](const auto& each) {
      return each.second.stream.get() == stream_.get() && each.second.last == nullptr;
    });
  }
  leave_graphs();
}

void Attached::leave_graphs() {
  const std::vector<OperationPointer> captured = std::exchange(captured_, {});
  state->captured -= captured.size();
  for (const OperationPointer& first : captured) {
    first->comm_ = nullptr;
    first->forget();
    for (const OperationPointer& each : first->others_) {
      each->comm_ = nullptr;
      each->forget();
    }
    state->orphans.push_back(first);
  }
}

bool Attached::may_wait_by_kernels() {
  if (kernels_wait_ || !own_devices_) return kernels_wait_;
  // Requests may keep a communicator that the program has freed.
  const auto waiting = std::ranges::count_if(state->communicators,
                                             [](const Attached* each) { return each->kernels_wait_ && !each->freed_; });
  kernels_wait_ = waiting < kMostWaitingStreams;
  return kernels_wait_;
}

Status Attached::take_error() {
  if (error_.ok()) [[likely]]
    return kOk;
  set_detail(std::exchange(why_, {}));
  return std::exchange(error_, kOk);
}

void Attached::note_error(Status status, std::string text) {
  if (!error_.ok()) return;
  error_ = status;
  why_ = std::move(text);
}

Status Attached::synchronize() {
  if (!stream_->has_device()) return kOk;
  ProgramStream::Capture capture{};
  HR_TRY(stream_->device_.capture(&capture));
  if (capture != ProgramStream::Capture::kNone) {
    return fail(Errc::kOther,
                "the communicator's stream is being captured, and this call would wait for it: use the _enqueue "
                "functions, or another communicator");
  }
  return unlocked([&] { return stream_->device_.synchronize(); });
}

Status create_communicator(comm::Communicator& comm, Stream* stream, Ref<comm::Communicator>* made) {
  HR_TRY(comm::dup(comm, nullptr, made));
  comm::keep_on_engine(**made);
  bool own_devices = false;
  HR_TRY(find_own_devices(**made, stream, &own_devices));
  if (stream == nullptr) return kOk;
  auto attached = std::make_unique<Attached>(**made, Ref<Stream>::share(stream));
  attached->own_devices_ = own_devices;
  state->communicators.push_back(attached.get());
  (*made)->stream_ = std::move(attached);
  return kOk;
}

Stream* stream_of(const comm::Communicator& comm) noexcept {
  return comm.stream_ == nullptr ? nullptr : static_cast<Attached&>(*comm.stream_).stream_.get();
}

Status attached_to(comm::Communicator& comm, Attached** attached) {
  *attached = static_cast<Attached*>(comm.stream_.get());
  if (*attached == nullptr) {
    return fail(Errc::kComm, "the communicator has no stream: make one with MPIX_Stream_comm_create");
  }
  if (!(*attached)->stream_->has_device()) {
    return fail(Errc::kComm,
                "the communicator's stream has no device: give MPIX_Stream_create an info with the keys \"type\" and "
                "\"value\"");
  }
  return (*attached)->take_error();
}

// --- appending ---

Status check_capture(Stream& stream, CaptureId* capture) {
  ProgramStream::Capture state{};
  *capture = 0;
  HR_TRY(stream.device_.capture(&state));
  if (state == ProgramStream::Capture::kBroken) {
    return fail(Errc::kOther,
                "the capture of the communicator's stream is no longer valid: an earlier call on the stream "
                "could not be captured");
  }
  if (state != ProgramStream::Capture::kActive) return kOk;
  if (!stream.device_.can_be_captured()) {
    return fail(Errc::kUnsupportedOperation,
                "%s cannot capture stream memory operations here: enqueue the operation outside the capture (the "
                "capture is still valid)",
                mem::device::driver().names.maker);
  }
  *capture = stream.device_.capture_id();
  return kOk;
}

Status append(Attached& attached, std::span<const OperationPointer> operations, bool waits, CaptureId capture) {
  Stream& stream = *attached.stream_;
  const bool captured = capture != 0;
  if (!captured) {
    HR_TRY(p2p::wait_until([&] { return stream.queue_.size() < kMostQueued && stream.words_->any_free(); }));
  }
  const Appending appending(stream);
  std::vector<StreamOperation>& work = work_of_call();
  for (const OperationPointer& each : operations) {
    HR_TRY(stream.words_->take(&each->place_));
    each->capture_ = capture;
    each->waited_ = waits;
    if (captured) each->alive_ = {};
    if (watcher != nullptr) watcher->enqueued(each.get(), each->request(), captured);
  }
  const OperationPointer& first = operations.front();
  work.push_back(ProgramStream::write(first->place_.start(), first->place_.number));
  for (const OperationPointer& each : operations) {
    if (each->waits_to_begin_) {
      work.push_back(stream.device_.wait(each->place_.begun(), each->place_.number));
      if (captured) work.push_back(ProgramStream::write(each->place_.begun(), each->place_.number - 1));
    }
  }
  for (const OperationPointer& each : operations) {
    if (waits) add_wait(*each, work);
  }
  first->others_.assign(operations.begin() + 1, operations.end());
  if (captured) {
    attached.captured_.push_back(first);
    ++state->captured;
  } else {
    attached.unfinished_ += static_cast<int>(operations.size());
    add(Statistic::enqueued_pending, operations.size());
    if (stream.queue_.empty()) state->streams.push_back(attached.stream_);
    stream.queue_.push_back(first);
  }
  watch();
  const Status status = append_unlocked(stream, work);
  if (status.ok()) return kOk;
  if (captured) {
    std::erase(attached.captured_, first);
    --state->captured;
  } else {
    std::erase(stream.queue_, first);
    attached.unfinished_ -= static_cast<int>(operations.size());
    subtract(Statistic::enqueued_pending, operations.size());
  }
  return status;
}

Status check_wait(Stream& stream, CaptureId enqueued_in, const char* what) {
  CaptureId capture = 0;
  HR_TRY(check_capture(stream, &capture));
  if (capture == enqueued_in) return kOk;
  return fail(Errc::kRequest,
              enqueued_in != 0
                  ? "the %s belongs to a graph: wait for it in the same capture (MPIX_Wait_enqueue)"
                  : "the %s was enqueued before the capture, which cannot wait for it: enqueue both in the capture, or "
                    "wait before it (the capture is still valid)",
              what);
}

Status append_waits(Stream& stream, std::span<const OperationPointer> operations) {
  const Appending appending(stream);
  std::vector<StreamOperation>& work = work_of_call();
  for (const OperationPointer& each : operations) {
    each->waited_ = true;
    add_wait(*each, work);
  }
  return append_unlocked(stream, work);
}

Status append_work(Stream& stream, std::span<const Launch> before, std::span<StreamOperation> waits,
                   std::span<const Launch> after) {
  if (before.empty() && waits.empty() && after.empty()) return kOk;
  const Appending appending(stream);
  const auto launch = [&](std::span<const Launch> all) -> Status {
    for (const Launch& each : all) {
      HR_TRY(stream.device_.launch(each.function, each.blocks, each.threads, each.parameter));
    }
    return kOk;
  };
  return unlocked([&] {
    HR_TRY(launch(before));
    if (!waits.empty()) HR_TRY(stream.device_.append(waits));
    return launch(after);
  });
}

// --- requests ---

Status make_request(const OperationPointer& operation, p2p::Request** request) {
  p2p::Request* const made = Arena<p2p::Request>::instance().create();
  if (made == nullptr) return fail(Errc::kNoMem, "no memory for another request: complete or free some first");
  made->state_ = std::make_unique<EnqueuedState>(operation);
  operation->comm_->retain();
  made->communicator_ = operation->comm_;
  made->destroy_communicator_ = &destroy_communicator;
  made->retain();
  operation->outer_ = made;
  *request = made;
  return kOk;
}

Served served_for(const p2p::Request& request) {
  if (auto* const enqueued = dynamic_cast<EnqueuedState*>(request.state_.get()); enqueued != nullptr) {
    const OperationPointer& operation = enqueued->operation_;
    return {operation, operation->stream_.get(), operation->capture_, true};
  }
  const auto found = state->persistent.find(const_cast<p2p::Request*>(&request));
  if (found == state->persistent.end()) return {};
  return {found->second.last, found->second.stream.get(), found->second.capture, false};
}

}  // namespace hr::enqueue
