// Thousands of random puts, gets, accumulates and get-accumulates with random datatypes on both sides, in epochs of all
// kinds, compared with a model of every rank's memory that all ranks compute from one seed; every element and every
// result is checked after every epoch.
//
//   random_mix <create|allocate|shared|dynamic> [--seed N] [--epochs N] [--memory KIND]
//              [--mappings none|some]
//
// --memory: kind for windows of "create" and for origins' buffers (tests/gpu/device_memory.hpp), host by default.
// --mappings: whether this process maps device memory of others.
// Within an epoch, puts, gets and updates use separate target locations, so that the result is determined; updates from
// several origins may use the same locations.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../gpu/device_memory.hpp"
#include "../../gpu/variable.hpp"
#include "window_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using Random = std::mt19937_64;

int below(Random& random, int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }

// A datatype over some base type, and the row elements that it contains, in typemap order.
struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 1;
  std::vector<int> places;
  bool derived = false;
};

Shape contiguous(MPI_Datatype base, int elements) {
  Shape shape;
  shape.type = base;
  shape.count = elements;
  for (int i = 0; i < elements; ++i) shape.places.push_back(i);
  return shape;
}

// Creates a type of `elements` elements, placed anywhere within 4 * elements.
Shape random_shape(Random& random, MPI_Datatype base, int elements) {
  Shape shape;
  shape.derived = true;
  switch (below(random, 5)) {
    case 0:
      return contiguous(base, elements);
    case 1: {  // a vector of blocks of one or two elements
      const int block = elements % 2 == 0 ? 2 : 1;
      const int stride = block + below(random, 2 * block + 1);
      CHECK_OK(MPI_Type_vector(elements / block, block, stride, base, &shape.type));
      for (int i = 0; i < elements; ++i) shape.places.push_back(i / block * stride + i % block);
      break;
    }
    case 2: {  // a list of single elements in any order
      std::vector<int> at(static_cast<std::size_t>(elements));
      for (int i = 0; i < elements; ++i) at[static_cast<std::size_t>(i)] = 3 * i + below(random, 3);
      std::shuffle(at.begin(), at.end(), random);
      CHECK_OK(MPI_Type_create_indexed_block(elements, 1, at.data(), base, &shape.type));
      shape.places = at;
      break;
    }
    case 3: {  // several elements of a resized type
      MPI_Datatype one;
      MPI_Aint lower = 0;
      MPI_Aint extent = 0;
      CHECK_OK(MPI_Type_get_extent(base, &lower, &extent));
      CHECK_OK(MPI_Type_create_resized(base, 0, 2 * extent, &one));
      shape.type = one;
      shape.count = elements;
      for (int i = 0; i < elements; ++i) shape.places.push_back(2 * i);
      break;
    }
    default: {  // a part of a matrix
      const int rows = elements % 3 == 0 ? 3 : 1;
      const int columns = elements / rows;
      const int sizes[2] = {rows, columns + 2};
      const int parts[2] = {rows, columns};
      const int starts[2] = {0, 1};
      CHECK_OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, base, &shape.type));
      for (int i = 0; i < elements; ++i) shape.places.push_back(i / columns * (columns + 2) + 1 + i % columns);
    }
  }
  CHECK_OK(MPI_Type_commit(&shape.type));
  return shape;
}

enum class Kind { kPut, kGet, kUpdate, kFetchUpdate, kRead };

struct Call {
  Kind kind;
  int origin, target;
  int begin;  // first element of its location in the target's memory
  Shape at_target, at_origin;
  bool by_request;
  bool alone;  // the call is MPI_Fetch_and_op
};

template <class Element>
Element value_of(int number) {
  return static_cast<Element>(number % 100);
}
template <>
std::complex<double> value_of(int number) {
  return {static_cast<double>(number % 100), static_cast<double>(number % 7)};
}

struct Settings {
  std::string kind;
  std::uint64_t seed = 1;
  int epochs = 60;
  MemoryKind memory = MemoryKind::kHost;
};

template <class Element>
class Mix {
 public:
  Mix(const check::Environment& mpi, const Settings& settings, MPI_Datatype base, int largest)
      : rank_(mpi.rank),
        size_(mpi.size),
        settings_(settings),
        base_(base),
        largest_(largest),
        elements_(kPlaces * 4 * largest),
        random_(settings.seed + sizeof(Element) + static_cast<std::uint64_t>(largest)),
        model_(static_cast<std::size_t>(size_)) {
    const std::size_t bytes = static_cast<std::size_t>(elements_) * sizeof(Element);
    const int units[] = {1, static_cast<int>(sizeof(Element)), 2};
    const bool device = settings.memory != MemoryKind::kHost && settings.kind == "create";
    if (device) memory_ = std::make_unique<DeviceMemory>(bytes, settings.memory, gpu::device());
    window_ = std::make_unique<rma_test::WindowMemory>(settings.kind, bytes, units[rank_ % 3], MPI_COMM_WORLD,
                                                       device ? memory_->get() : nullptr);
    for (auto& each : model_) {
      each.resize(static_cast<std::size_t>(elements_));
      for (Element& element : each) element = value_of<Element>(below(random_, 100));
    }
    store(model_[static_cast<std::size_t>(rank_)]);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  void play() {
    for (int epoch = 0; epoch < settings_.epochs; ++epoch) play_epoch(epoch);
  }

 private:
  static constexpr int kPlaces = 24;  // places in each rank's memory

  void store(const std::vector<Element>& values) {
    if (memory_ != nullptr) {
      memory_->write(std::as_bytes(std::span(values)));
    } else {
      std::memcpy(window_->own(), values.data(), values.size() * sizeof(Element));
    }
  }
  std::vector<Element> load() {
    std::vector<Element> values(static_cast<std::size_t>(elements_));
    if (memory_ != nullptr) {
      const std::vector<std::byte> bytes = memory_->read();
      std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      std::memcpy(values.data(), window_->own(), values.size() * sizeof(Element));
    }
    return values;
  }

  // Draws the calls of all ranks in this epoch, the same on each rank.
  std::vector<Call> plan(bool passive) {
    std::vector<Call> calls;
    const int number = 1 + below(random_, 4 * size_);
    std::vector<std::vector<Kind>> use(static_cast<std::size_t>(size_));  // how each place is used
    std::vector<std::vector<bool>> taken(static_cast<std::size_t>(size_));
    for (auto& each : use) {
      for (int place = 0; place < kPlaces; ++place)
        each.push_back(std::array{Kind::kPut, Kind::kGet, Kind::kUpdate}[static_cast<std::size_t>(below(random_, 3))]);
    }
    for (auto& each : taken) each.resize(kPlaces);
    for (int i = 0; i < number; ++i) {
      Call call;
      call.origin = below(random_, size_);
      call.target = below(random_, size_);
      const int place = below(random_, kPlaces);
      const auto target = static_cast<std::size_t>(call.target);
      const auto at = static_cast<std::size_t>(place);
      call.kind = use[target][at];
      const bool first = !taken[target][at];
      taken[target][at] = true;
      if (call.kind == Kind::kPut && !first) continue;
      if (call.kind == Kind::kGet && below(random_, 2) == 0) call.kind = Kind::kRead;
      if (call.kind == Kind::kUpdate && first && below(random_, 3) == 0) {
        call.kind = Kind::kFetchUpdate;
        use[target][at] = Kind::kFetchUpdate;
      } else if (call.kind == Kind::kFetchUpdate) {
        continue;
      }
      const int elements = 1 + below(random_, largest_);
      call.begin = place * 4 * largest_;
      call.alone = elements == 1 && (call.kind == Kind::kFetchUpdate || call.kind == Kind::kRead);
      call.at_target = call.alone ? contiguous(base_, 1) : random_shape(random_, base_, elements);
      call.at_origin = call.alone ? contiguous(base_, 1) : random_shape(random_, base_, elements);
      call.by_request = passive && below(random_, 2) == 0;
      calls.push_back(std::move(call));
    }
    return calls;
  }

  Element& modelled(const Call& call, std::size_t i) {
    return model_[static_cast<std::size_t>(call.target)]
                 [static_cast<std::size_t>(call.begin + call.at_target.places[i])];
  }

  // An origin's buffer, surrounded by elements that must stay unchanged.
  struct Buffer {
    Buffer(const Shape& shape, int largest, MemoryKind kind, Element poison)
        : values(static_cast<std::size_t>(4 * largest), poison),
          memory(values.size() * sizeof(Element), kind, kind == MemoryKind::kHost ? 0 : gpu::device()),
          places(shape.places) {}
    void write() { memory.write(std::as_bytes(std::span(values))); }
    void check(int line) {
      const std::vector<std::byte> bytes = memory.read();
      for (std::size_t i = 0; i < values.size(); ++i) {
        Element found;
        std::memcpy(&found, bytes.data() + i * sizeof found, sizeof found);
        if (found != values[i])
          check::fail(__FILE__, line, "element " + std::to_string(i) + " of an origin's buffer is wrong");
      }
    }
    std::vector<Element> values;  // present or expected content
    DeviceMemory memory;
    std::vector<int> places;
  };

  struct Running {
    std::unique_ptr<Buffer> in, out;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void issue(const Call& call, Running& run, int number) {
    MPI_Win win = window_->window;
    const MPI_Aint at = window_->displacement(call.target, static_cast<std::size_t>(call.begin) * sizeof(Element));
    const Shape& target = call.at_target;
    const Shape& origin = call.at_origin;
    const bool gives = call.kind == Kind::kPut || call.kind == Kind::kUpdate || call.kind == Kind::kFetchUpdate;
    const bool takes = call.kind != Kind::kPut && call.kind != Kind::kUpdate;
    run.in = std::make_unique<Buffer>(origin, largest_, settings_.memory, value_of<Element>(77));
    run.out = std::make_unique<Buffer>(origin, largest_, settings_.memory, value_of<Element>(55));
    for (std::size_t i = 0; gives && i < origin.places.size(); ++i)
      run.in->values[static_cast<std::size_t>(origin.places[i])] = value_of<Element>(number + static_cast<int>(i));
    run.in->write();
    run.out->write();
    for (std::size_t i = 0; takes && i < origin.places.size(); ++i)
      run.out->values[static_cast<std::size_t>(origin.places[i])] = modelled(call, i);
    void* const in = run.in->memory.get();
    void* const out = run.out->memory.get();
    MPI_Request* const request = &run.request;
    switch (call.kind) {
      case Kind::kPut:
        if (call.by_request) {
          CHECK_OK(MPI_Rput(in, origin.count, origin.type, call.target, at, target.count, target.type, win, request));
        } else {
          CHECK_OK(MPI_Put(in, origin.count, origin.type, call.target, at, target.count, target.type, win));
        }
        return;
      case Kind::kGet:
        if (call.by_request) {
          CHECK_OK(MPI_Rget(out, origin.count, origin.type, call.target, at, target.count, target.type, win, request));
        } else {
          CHECK_OK(MPI_Get(out, origin.count, origin.type, call.target, at, target.count, target.type, win));
        }
        return;
      case Kind::kUpdate:
        if (call.by_request) {
          CHECK_OK(MPI_Raccumulate(in, origin.count, origin.type, call.target, at, target.count, target.type, MPI_SUM,
                                   win, request));
        } else {
          CHECK_OK(
              MPI_Accumulate(in, origin.count, origin.type, call.target, at, target.count, target.type, MPI_SUM, win));
        }
        return;
      default:
        break;
    }
    const MPI_Op op = call.kind == Kind::kRead ? MPI_NO_OP : number % 2 == 0 ? MPI_SUM : MPI_REPLACE;
    if (call.alone) {
      CHECK_OK(MPI_Fetch_and_op(in, out, base_, call.target, at, op, win));
    } else if (call.by_request) {
      CHECK_OK(MPI_Rget_accumulate(in, origin.count, origin.type, out, origin.count, origin.type, call.target, at,
                                   target.count, target.type, op, win, request));
    } else {
      CHECK_OK(MPI_Get_accumulate(in, origin.count, origin.type, out, origin.count, origin.type, call.target, at,
                                  target.count, target.type, op, win));
    }
  }

  // Applies the call to the model of the target.
  void imagine(const Call& call, int number) {
    for (std::size_t i = 0; i < call.at_origin.places.size(); ++i) {
      const Element value = value_of<Element>(number + static_cast<int>(i));
      Element& place = modelled(call, i);
      if (call.kind == Kind::kPut || (call.kind == Kind::kFetchUpdate && number % 2 != 0)) place = value;
      if (call.kind == Kind::kUpdate || (call.kind == Kind::kFetchUpdate && number % 2 == 0)) place += value;
    }
  }

  enum Way { kFence, kLock, kLockAll, kStart };

  void begin(Way way) {
    MPI_Win win = window_->window;
    if (way == kFence) CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (way == kLockAll) CHECK_OK(MPI_Win_lock_all(0, win));
    if (way == kStart) {
      MPI_Group group;
      CHECK_OK(MPI_Win_get_group(win, &group));
      CHECK_OK(MPI_Win_post(group, 0, win));
      CHECK_OK(MPI_Win_start(group, 0, win));
      CHECK_OK(MPI_Group_free(&group));
    }
    for (int target = 0; way == kLock && target < size_; ++target)
      CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
  }
  void end(Way way, int epoch) {
    MPI_Win win = window_->window;
    if (way == kFence) CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (way == kLockAll && epoch % 2 == 0) CHECK_OK(MPI_Win_flush_all(win));
    if (way == kLockAll) CHECK_OK(MPI_Win_unlock_all(win));
    if (way == kStart) {
      CHECK_OK(MPI_Win_complete(win));
      CHECK_OK(MPI_Win_wait(win));
    }
    for (int target = 0; way == kLock && target < size_; ++target) {
      if (epoch % 2 == 0) CHECK_OK(MPI_Win_flush(target, win));
      CHECK_OK(MPI_Win_unlock(target, win));
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  void play_epoch(int epoch) {
    const Way way = static_cast<Way>(below(random_, 4));
    std::vector<Call> calls = plan(way == kLock || way == kLockAll);
    std::vector<Running> running(calls.size());
    begin(way);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].origin == rank_) issue(calls[i], running[i], static_cast<int>(i) + epoch);
    }
    for (Running& run : running) {
      if (run.request != MPI_REQUEST_NULL) CHECK_OK(MPI_Wait(&run.request, MPI_STATUS_IGNORE));
    }
    end(way, epoch);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      imagine(calls[i], static_cast<int>(i) + epoch);
      if (running[i].in != nullptr) running[i].in->check(__LINE__);
      if (running[i].out != nullptr) running[i].out->check(__LINE__);
      for (Shape* shape : {&calls[i].at_origin, &calls[i].at_target}) {
        if (shape->derived && shape->type != base_) CHECK_OK(MPI_Type_free(&shape->type));
      }
    }
    look(epoch);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  void look(int epoch) {
    const std::vector<Element> found = load();
    const auto& wanted = model_[static_cast<std::size_t>(rank_)];
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == wanted[i]) continue;
      check::fail(__FILE__, __LINE__,
                  "seed " + std::to_string(settings_.seed) + ", epoch " + std::to_string(epoch) + ": element " +
                      std::to_string(i) + " of the window (" + std::to_string(sizeof(Element)) + " bytes) is wrong");
    }
  }

  int rank_, size_;
  const Settings& settings_;
  MPI_Datatype base_;
  int largest_;
  int elements_;
  Random random_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<rma_test::WindowMemory> window_;
  std::vector<std::vector<Element>> model_;
};

MemoryKind kind_named(const std::string& name) {
  for (const MemoryKind kind : hr::test::kAllKinds) {
    if (name == hr::test::name_of(kind)) return kind;
  }
  check::fail(__FILE__, __LINE__, "no such memory: " + name);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.kind = argc > 1 ? argv[1] : "allocate";
  std::string mappings;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--seed") settings.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--epochs") settings.epochs = std::atoi(argv[i + 1]);
    if (option == "--memory") settings.memory = kind_named(argv[i + 1]);
    if (option == "--mappings") mappings = argv[i + 1];
  }
  const check::Environment mpi(&argc, &argv);
  if (settings.memory != MemoryKind::kHost) gpu::select(mpi.rank % gpu::device_count());
  if (mpi.rank == 0) std::printf("seed %llu\n", static_cast<unsigned long long>(settings.seed));
  hr::test::Variable mapped("HEADRACE_DEVICE_IPC_MISSES");
  Mix<int>(mpi, settings, MPI_INT, 12).play();
  Mix<double>(mpi, settings, MPI_DOUBLE, 3000).play();
  settings.epochs = settings.epochs / 2 + 1;
  Mix<std::int64_t>(mpi, settings, MPI_INT64_T, 200).play();
  Mix<short>(mpi, settings, MPI_SHORT, 30).play();
  Mix<std::complex<double>>(mpi, settings, MPI_C_DOUBLE_COMPLEX, 500).play();
  if (!mappings.empty()) CHECK_EQ(mapped.value() != 0, mappings == "some");
  return 0;
}
