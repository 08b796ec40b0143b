// Beyond the series: like overlap-fused, but the device's stream starts the messages and waits for them, so that the
// host never waits within a step; and the same with steps captured in a CUDA graph.
//
// The program has these patterns only if the MPI library has MPIX streams (MPIX_HAVE_STREAMS).
#include "patterns/halo_messages.hpp"
#if !defined(MPICH_VERSION) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace halo3d {

extern const PatternRecord kStreams, kGraph;

#ifndef MPIX_HAVE_STREAMS
const PatternRecord kStreams = {"streams", kNone, kNone, "", nullptr};
const PatternRecord kGraph = {"graph", kNone, kNone, "", nullptr};
#else
namespace {

// A duplicate of the ranks' communicator, on which the stream starts messages.
class StreamComm {
 public:
  StreamComm(MPI_Comm ranks, void* stream) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    MPIX_Stream_create(info, &stream_);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(ranks, stream_, &comm_);
  }
  ~StreamComm() {
    MPI_Comm_free(&comm_);
    MPIX_Stream_free(&stream_);
  }
  StreamComm(const StreamComm&) = delete;
  StreamComm& operator=(const StreamComm&) = delete;
  MPI_Comm comm() const { return comm_; }

 private:
  MPIX_Stream stream_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class Streams : public Pattern {
 public:
  explicit Streams(const Setup& setup)
      : Pattern(setup),
        stream_(setup.decomposition.comm(), setup.backend.stream()),
        messages_(setup, false),
        requests_(messages_.make_persistent(stream_.comm())) {
    MPIX_Matchall(HaloMessages::kRequests, requests_.data());
  }
  ~Streams() override {
    for (MPI_Request& each : requests_) MPI_Request_free(&each);
  }

  void exchange() override {
    setup_.backend.pack_faces(messages_.to_send());
    start();
    complete();
    messages_.unpack_all(true);
  }

  void step() override {
    const Stopwatch watch(setup_.times.update);  // the host only enqueues
    enqueue_step();
    messages_.count_all();
  }

 protected:
  void enqueue_step() {
    setup_.backend.pack_faces(messages_.to_send());
    start();
    setup_.backend.update(setup_.way, Part::kInner);
    complete();
    setup_.backend.update_boundary(setup_.way, messages_.arrived());
    setup_.backend.hand_over_step();
  }
  void count() { messages_.count_all(); }

 private:
  void start() { MPIX_Startall_enqueue(HaloMessages::kRequests, requests_.data(), stream_.comm()); }
  void complete() { MPIX_Waitall_enqueue(HaloMessages::kRequests, requests_.data(), MPI_STATUSES_IGNORE); }

  StreamComm stream_;
  HaloMessages messages_;
  std::array<MPI_Request, HaloMessages::kRequests> requests_;
};

// Every second step launches a graph of two steps, as each step swaps the two copies of the fields.
class Graph final : public Streams {
 public:
  explicit Graph(const Setup& setup) : Streams(setup) {}

  void step() override {
    const Stopwatch watch(setup_.times.update);
    count();
    if (++begun_ % 2 == 1) return;
    if (graph_ == nullptr) {
      graph_ = setup_.backend.capture([this] {
        for (int i = 0; i < 2; ++i) enqueue_step();
      });
    }
    graph_->launch();
  }

  // An odd step is executed separately when its result is needed.
  void exchange() override {
    if (begun_ % 2 == 1) enqueue_step();
    begun_ = 0;
    // The graph is tied to the copy of the fields that was current at the capture.
    graph_.reset();
    Streams::exchange();
  }

 private:
  int begun_ = 0;
  std::unique_ptr<StepGraph> graph_;
};

}  // namespace

const PatternRecord kStreams = {
    "streams", kNone, 11, "as overlap-fused, but the device's stream starts the messages and waits for them",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<Streams>(setup); }};
const PatternRecord kGraph = {
    "graph",
    kNone,
    12,
    "as streams, two steps captured in a CUDA graph",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<Graph>(setup); },
    true};
#endif

}  // namespace halo3d
