// Lane: a stream with its communicator, kernels for it, and graphs captured from it.
//
// Owner: RAII; collective, as it creates a communicator. Threads: the device's context must be current.
#pragma once

#include <mpi-ext.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "driver_function.hpp"
#include "mpi_memory.hpp"

extern "C" const unsigned char streams_fatbin[];

namespace streams {

using hr::test::Buffer;
using hr::test::MemoryKind;
using Word = std::uint32_t;

inline constexpr const char* kModes[] = {"global", "thread-local", "relaxed"};

// True unless the ranks count as being on several hosts.
inline bool on_one_host() {
  const char* const hosts = std::getenv("HEADRACE_AS_HOSTS");
  return hosts == nullptr || std::atoi(hosts) <= 1;
}

template <class Function>
Function* driver(const char* name) {
  Function* const found = hr::test::driver_function<Function>(name);
  if (found == nullptr) check::fail(__FILE__, __LINE__, std::string("the driver lacks ") + name);
  return found;
}

struct Kernels {
  Kernels() : module(streams_fatbin) {}
  gpu::Module module;
  gpu::Function fill = module.function("streams_fill");
  gpu::Function copy = module.function("streams_copy");
  gpu::Function step = module.function("streams_step");
};

inline MPIX_Stream make_stream(gpu::Stream stream) {
  MPI_Info info = MPI_INFO_NULL;
  MPIX_Stream made = MPIX_STREAM_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "type", "cudaStream_t"));
  CHECK_OK(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
  CHECK_OK(MPIX_Stream_create(info, &made));
  CHECK_OK(MPI_Info_free(&info));
  return made;
}

class Lane {
 public:
  enum class Kind { kIndependent, kBlocking, kDefault };

  explicit Lane(const Kernels& kernels, Kind kind = Kind::kIndependent)
      : kernels_(kernels),
        owned_(kind != Kind::kDefault),
        stream_(owned_ ? gpu::create_stream(kind == Kind::kIndependent) : gpu::kDefaultStream),
        named_(make_stream(stream_)) {
    CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, named_, &comm_));
    CHECK_OK(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_rank(comm_, &rank));
    CHECK_OK(MPI_Comm_size(comm_, &size));
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
  }
  ~Lane() {
    CHECK_OK(MPI_Comm_free(&comm_));
    CHECK_OK(MPIX_Stream_free(&named_));
    if (owned_) gpu::destroy_stream(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] gpu::Stream stream() const { return stream_; }
  [[nodiscard]] MPIX_Stream named() const { return named_; }

  // Enqueue kernels on buffers of Words.
  void fill(const Buffer& data, Word first, unsigned spins = 0, std::size_t offset = 0, std::size_t count = 0) const {
    gpu::launch(kernels_.fill, {1}, {64}, stream_, words(data) + offset, count_of(data, offset, count), first, spins);
  }
  void fill_in(gpu::Stream stream, const Buffer& data, Word first) const {
    gpu::launch(kernels_.fill, {1}, {64}, stream, words(data), count_of(data, 0, 0), first, 0u);
  }
  void copy(const Buffer& to, std::size_t offset, const Buffer& from, Word more = 0, unsigned spins = 0) const {
    gpu::launch(kernels_.copy, {1}, {64}, stream_, words(to) + offset, words(from), count_of(from, 0, 0), more, spins);
  }
  void step(const Buffer& to, const Buffer& from, const Buffer& step) const {
    gpu::launch(kernels_.step, {1}, {64}, stream_, words(to), words(from), words(step), count_of(to, 0, 0));
  }
  void wait() const { gpu::synchronize(stream_); }

  int rank = 0, size = 0, next = 0, previous = 0;

 private:
  static Word* words(const Buffer& buffer) { return static_cast<Word*>(buffer.get()); }
  static unsigned count_of(const Buffer& buffer, std::size_t offset, std::size_t count) {
    return static_cast<unsigned>(count != 0 ? count : buffer.size() / sizeof(Word) - offset);
  }

  const Kernels& kernels_;
  bool owned_;
  gpu::Stream stream_;
  MPIX_Stream named_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// A graph of the work that `work` enqueues, to be launched many times.
class Graph {
 public:
  template <class Work>
  Graph(const Lane& lane, int mode, const Work& work) : lane_(lane) {
    gpu::check(driver<int(gpu::Stream, int)>("cuStreamBeginCapture_v2")(lane.stream(), mode), "cuStreamBeginCapture");
    work();
    void* graph = nullptr;
    const int result = driver<int(gpu::Stream, void**)>("cuStreamEndCapture")(lane.stream(), &graph);
    if (result != 0) {
      check::fail(__FILE__, __LINE__,
                  std::string(kModes[mode]) + " capture is spoilt, error " + std::to_string(result));
    }
    gpu::check(driver<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&executable_, graph, 0),
               "cuGraphInstantiate");
    gpu::check(driver<int(void*)>("cuGraphDestroy")(graph), "cuGraphDestroy");
  }
  ~Graph() { gpu::check(driver<int(void*)>("cuGraphExecDestroy")(executable_), "cuGraphExecDestroy"); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const {
    static auto* const start = driver<int(void*, gpu::Stream)>("cuGraphLaunch");
    gpu::check(start(executable_, lane_.stream()), "cuGraphLaunch");
  }

 private:
  const Lane& lane_;
  void* executable_ = nullptr;
};

// Words first, first + 1, ...
inline std::vector<Word> counting(std::size_t count, Word first) {
  std::vector<Word> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = first + static_cast<Word>(i);
  return made;
}

inline void expect(const std::vector<Word>& found, const std::vector<Word>& wanted, const std::string& what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i < found.size() && found[i] == wanted[i]) continue;
    check::fail(__FILE__, __LINE__,
                what + ": element " + std::to_string(i) + " is " + (i < found.size() ? std::to_string(found[i]) : "?") +
                    ", not " + std::to_string(wanted[i]));
  }
}

}  // namespace streams
