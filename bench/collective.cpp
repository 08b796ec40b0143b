// collective: time of one collective operation, in microseconds, and its algorithm and bus bandwidth as defined in
// nccl-tests. The time of a repetition is the longest of the ranks' mean times; the result is the median over the
// repetitions.
//
// A size is that of the larger of a rank's two buffers, in bytes, as in nccl-tests; for allgather, the size of all
// blocks together.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "collective/element.hpp"
#include "collective/operation.hpp"
#include "common/measure.hpp"
#include "common/pattern.hpp"
#include "common/program.hpp"
#include "common/touch.hpp"

namespace {

using bench::Buffer;
using bench::Call;
using bench::Element;
using bench::Operation;
using bench::Options;
using bench::Place;
using bench::World;

enum class Form { kBlocking, kNonblocking, kPersistent };
constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};

struct Choice {
  std::vector<const Operation*> operations;
  Form form = Form::kBlocking;
  Element element;
  bool touch = false;
};

bool parse_operations(const std::string& text, std::vector<const Operation*>& operations) {
  operations.clear();
  for (const std::string& name : bench::split(text)) {
    if (name == "all") {
      for (const Operation& operation : bench::operations()) operations.push_back(&operation);
    } else if (const Operation* found = bench::find_operation(name)) {
      operations.push_back(found);
    } else {
      return false;
    }
  }
  return true;
}

bool parse_form(const std::string& text, Form& form) {
  for (std::size_t i = 0; i < std::size(kForms); ++i) {
    if (text != kForms[i]) continue;
    form = static_cast<Form>(i);
    return true;
  }
  return false;
}

bench::OptionTable option_table(Options& options, Choice& choice) {
  bench::OptionTable table = bench::common_options(options);
  bench::add_touch(table, options);
  std::string names;
  for (const Operation& operation : bench::operations()) names += std::string(", ") + operation.name;
  table.add("--op", "LIST", "operations, separated by commas (allreduce); all" + names,
            [&choice](const std::string& v) { return parse_operations(v, choice.operations); });
  table.add("--form", "FORM", "blocking (the default), nonblocking or persistent",
            [&choice](const std::string& v) { return parse_form(v, choice.form); });
  table.add("--type", "TYPE", "float (the default), double or int; reductions are sums",
            [&choice](const std::string& v) { return bench::find_element(v, choice.element); });
  return table;
}

// One operation of one size: its buffers, their expected content, and its repetition.
class Measurement {
 public:
  Measurement(const Operation& operation, const Choice& choice, const World& world, const Place& place, int count,
              Buffer& send, Buffer& receive)
      : operation_(operation),
        choice_(choice),
        world_(world),
        place_(place),
        send_(send),
        receive_(receive),
        send_elements_(elements(operation.send_blocks(place), count)),
        receive_elements_(elements(operation.receive_blocks(place), count)),
        count_(static_cast<std::size_t>(count)),
        call_(place, largest_blocks(operation, place), count, choice.element.type, choice.element.bytes, send.data(),
              receive.data()) {
    if (choice.form == Form::kPersistent) operation.init(call_, &request_);
  }
  ~Measurement() {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  static int largest_blocks(const Operation& operation, const Place& place) {
    Place root = place;  // treated as the root, which has the largest buffers
    root.rank = bench::kRoot;
    return std::max({operation.send_blocks(root), operation.receive_blocks(root), operation.send_blocks(place),
                     operation.receive_blocks(place)});
  }

  void fill() {
    std::vector<unsigned char> host(send_elements_ * width());
    for (std::size_t i = 0; i < send_elements_; ++i) {
      choice_.element.store(&host[i * width()], bench::sent_value(world_.rank, i));
    }
    send_.write(host.data(), host.size());
    expected_.resize(receive_elements_ * width());
    for (std::size_t i = 0; i < receive_elements_; ++i) {
      choice_.element.store(&expected_[i * width()],
                            operation_.expected(place_, static_cast<int>(i / count_), i % count_, count_));
    }
    host = bench::poison_for(expected_);
    if (operation_.starts_in_receive && place_.rank == bench::kRoot) {
      std::copy(expected_.begin(), expected_.end(), host.begin());
    }
    receive_.write(host.data(), host.size());
  }

  // Returns false, with a message, if a byte is wrong.
  bool verify() const {
    std::vector<unsigned char> found(expected_.size() + bench::kGuard);
    receive_.read(found.data(), found.size());
    const std::size_t wrong = bench::first_wrong(found, expected_);
    if (wrong == found.size()) return true;
    std::fprintf(stderr, "collective: rank %d: %s of %zu elements a block: byte %zu of the receive buffer is wrong%s\n",
                 world_.rank, operation_.name, count_, wrong,
                 wrong < expected_.size() ? "" : ": nothing should have been written there");
    return false;
  }

  double repeat(int iterations) {
    if (!operation_.apart) {
      const double start = MPI_Wtime();
      for (int i = 0; i < iterations; ++i) once();
      return MPI_Wtime() - start;
    }
    double seconds = 0;
    for (int i = 0; i < iterations; ++i) {
      bench::barrier(world_);
      const double start = MPI_Wtime();
      once();
      seconds += MPI_Wtime() - start;
    }
    return seconds;
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(choice_.element.bytes); }
  static std::size_t elements(int blocks, int count) {
    return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(count);
  }

  // A rank whose data is in the receive buffer (the root of a broadcast) writes to that buffer; the other ranks read
  // the received data.
  void once() {
    if (!choice_.touch) return call();
    const bool sends_received = operation_.starts_in_receive && place_.rank == bench::kRoot;
    bench::write_lines(sends_received ? receive_.data() : send_.data(),
                       (sends_received ? receive_elements_ : send_elements_) * width());
    call();
    if (!sends_received) bench::read_lines(receive_.data(), receive_elements_ * width());
  }

  void call() {
    switch (choice_.form) {
      case Form::kBlocking:
        operation_.blocking(call_);
        return;
      case Form::kNonblocking:
        operation_.start(call_, &request_);
        break;
      case Form::kPersistent:
        MPI_Start(&request_);
        break;
    }
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
  }

  const Operation& operation_;
  const Choice& choice_;
  const World& world_;
  const Place& place_;
  Buffer& send_;
  Buffer& receive_;
  const std::size_t send_elements_, receive_elements_, count_;
  const Call call_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<unsigned char> expected_;
};

// Returns the number of elements per block, at least one, with which the larger buffer has about `bytes`.
int block_count(std::size_t bytes, int blocks, int element_bytes) {
  if (bytes == 0 || blocks == 0) return 0;
  const std::size_t count = bytes / static_cast<std::size_t>(blocks) / static_cast<std::size_t>(element_bytes);
  // Displacements of the w form are in bytes, as an int.
  return static_cast<int>(std::clamp<std::size_t>(count, 1, std::numeric_limits<int>::max()));
}

int run_all(const bench::Program& program, const World& world, const Options& options, const Choice& choice) {
  const bench::MemoryKind kind = bench::memory_of(program, world, options);
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  report.settings.emplace_back("form", kForms[static_cast<int>(choice.form)]);
  report.settings.emplace_back("type", choice.element.name);
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);

  const Place plain{world.rank, world.size, world.comm, {}};
  Place cartesian = bench::cartesian_place(world.comm, {0, 0, 0});
  const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  const std::size_t least =
      static_cast<std::size_t>(world.size + 6) * 8;  // space for one element of the widest type per block
  Buffer send, receive;
  bench::allocate(program, world, kind, std::max(largest, least), send);
  bench::allocate(program, world, kind, std::max(largest, least) + bench::kGuard, receive);
  for (const Operation* operation : choice.operations) {
    const Place& place = operation->neighbourhood ? cartesian : plain;
    const int blocks = Measurement::largest_blocks(*operation, place);
    for (const std::size_t asked : options.sizes) {
      const int count = block_count(asked, blocks, choice.element.bytes);
      const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks * choice.element.bytes);
      Measurement measurement(*operation, choice, world, place, count, send, receive);
      const auto check = [&] {
        if (options.validate && !measurement.verify()) MPI_Abort(world.comm, 4);
      };
      if (options.validate) {
        measurement.fill();
        measurement.repeat(1);
        check();
      }
      const bench::Repeat repeat = [&](int iterations) { return measurement.repeat(iterations); };
      const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
      std::vector<double> samples = bench::measure(world, plan, repeat);
      check();
      for (double& sample : samples) sample *= 1e6 / plan.iterations;
      samples = bench::combine(world, std::move(samples), world.size, bench::Combine::kMax);
      if (world.rank == 0) {
        const bench::Statistics times = bench::summarise(samples, true);
        const double bandwidth = static_cast<double>(bytes) / times.median * 1e-3;
        bench::add_row(report,
                       {operation->name,
                        bytes,
                        plan.iterations,
                        times,
                        {{"alg GB/s", bandwidth}, {"bus GB/s", bandwidth * operation->bus_factor(place)}}},
                       table);
      }
      if (blocks == 0) break;  // a barrier has no size
    }
  }
  MPI_Comm_free(&cartesian.comm);
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Choice choice;
  choice.operations = {bench::find_operation("allreduce")};
  if (!bench::find_element("float", choice.element)) return 1;
  const bench::Program program{"collective", "The time of collective operations.", "N"};
  return bench::run_program(argc, argv, program, option_table(options, choice), options, [&](const World& world) {
    choice.touch = options.touch;
    return run_all(program, world, options, choice);
  });
}
