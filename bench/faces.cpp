// faces: one-way latency, in microseconds, of one face of a cube of floats in each orientation (one contiguous segment,
// rows, single elements), with subarray types on both sides; and of random single floats, with indexed types.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "common/measure.hpp"
#include "common/program.hpp"
#include "faces/shape.hpp"

namespace {

using bench::Buffer;
using bench::Options;
using bench::Shape;
using bench::Side;
using bench::World;

struct Choice {
  std::vector<Shape> shapes{std::begin(bench::kAllShapes), std::end(bench::kAllShapes)};
  int edge = 258;
  int random = 65536;

  std::size_t cube() const { return static_cast<std::size_t>(edge) * edge * edge; }
};

bool parse_shapes(const std::string& text, std::vector<Shape>& shapes) {
  shapes.clear();
  for (const std::string& name : bench::split(text)) {
    const auto* const known = std::find(std::begin(bench::kShapes), std::end(bench::kShapes), name);
    if (known == std::end(bench::kShapes)) return false;
    shapes.push_back(static_cast<Shape>(known - std::begin(bench::kShapes)));
  }
  return true;
}

bool sensible(const Choice& choice, std::string& message) {
  if (choice.edge < 3 || choice.edge > 1024) {
    message = "--edge is from 3 to 1024";
  } else if (static_cast<std::size_t>(choice.random) > choice.cube()) {
    message = "--random is larger than the cube";
  }
  return message.empty();
}

MPI_Datatype make_type(Shape shape, Side side, const Choice& choice) {
  MPI_Datatype type;
  if (shape == Shape::kIndexed) {
    const auto at = bench::positions(shape, side, choice.edge, static_cast<std::size_t>(choice.random));
    MPI_Type_create_indexed_block(choice.random, 1, at.data(), MPI_FLOAT, &type);
  } else {
    const int sizes[3] = {choice.edge, choice.edge, choice.edge};
    int lengths[3] = {choice.edge, choice.edge, choice.edge};
    int starts[3] = {0, 0, 0};
    const int fixed = shape == Shape::kContiguous ? 0
                      : shape == Shape::kRows     ? 1
                                                  : 2;  // index of the fixed axis; 0 is the slowest
    lengths[fixed] = 1;
    starts[fixed] = bench::plane_of(side, choice.edge);
    MPI_Type_create_subarray(3, sizes, lengths, starts, MPI_ORDER_C, MPI_FLOAT, &type);
  }
  MPI_Type_commit(&type);
  return type;
}

// Returns element `i` of the cube that `rank` sends; its bits are moved, never computed with.
std::uint32_t word(int rank, std::size_t i) {
  return static_cast<std::uint32_t>(i * 2654435761u) + static_cast<std::uint32_t>(rank) * 0x9E3779B9u;
}

class Exchange {
 public:
  Exchange(Shape shape, const Choice& choice, const World& world, Buffer& send, Buffer& receive)
      : shape_(shape),
        choice_(choice),
        world_(world),
        send_(send),
        receive_(receive),
        send_type_(make_type(shape, Side::kSend, choice)),
        receive_type_(make_type(shape, Side::kReceive, choice)) {}
  ~Exchange() {
    MPI_Type_free(&send_type_);
    MPI_Type_free(&receive_type_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void ping_pong(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      if (world_.lower()) send();
      receive();
      if (!world_.lower()) send();
    }
  }

  void fill() {
    std::vector<std::uint32_t> host(choice_.cube());
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = word(world_.rank, i);
    send_.write(host.data(), host.size() * sizeof host[0]);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = untouched(i);
    receive_.write(host.data(), host.size() * sizeof host[0]);
  }

  // True if the elements of the shape are the peer's, and all other elements of the cube are unchanged; else prints the
  // first wrong one.
  bool verify() const {
    const auto random = static_cast<std::size_t>(choice_.random);
    const auto from = bench::positions(shape_, Side::kSend, choice_.edge, random);
    const auto to = bench::positions(shape_, Side::kReceive, choice_.edge, random);
    std::vector<std::uint32_t> expected(choice_.cube()), found(choice_.cube());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = untouched(i);
    for (std::size_t k = 0; k < to.size(); ++k) {
      expected[static_cast<std::size_t>(to[k])] = word(world_.peer(), static_cast<std::size_t>(from[k]));
    }
    receive_.read(found.data(), found.size() * sizeof found[0]);
    const auto wrong = std::mismatch(found.begin(), found.end(), expected.begin());
    if (wrong.first == found.end()) return true;
    std::fprintf(stderr, "faces: rank %d: %s: float %td of the cube has bits %08x, not %08x\n", world_.rank,
                 bench::shape_name(shape_), wrong.first - found.begin(), *wrong.first, *wrong.second);
    return false;
  }

 private:
  void send() { MPI_Send(send_.data(), 1, send_type_, world_.peer(), 1, world_.comm); }
  void receive() { MPI_Recv(receive_.data(), 1, receive_type_, world_.peer(), 1, world_.comm, MPI_STATUS_IGNORE); }
  // Returns the complement of the peer's element at this position.
  std::uint32_t untouched(std::size_t i) const { return ~word(world_.peer(), i); }

  const Shape shape_;
  const Choice& choice_;
  const World& world_;
  Buffer& send_;
  Buffer& receive_;
  MPI_Datatype send_type_, receive_type_;
};

int run_all(const bench::Program& program, const World& world, const Options& options, const Choice& choice) {
  const bench::MemoryKind kind = bench::memory_of(program, world, options);
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  report.settings.emplace_back("edge", std::to_string(choice.edge));
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  Buffer send, receive;
  bench::allocate(program, world, kind, choice.cube() * sizeof(float), send);
  bench::allocate(program, world, kind, choice.cube() * sizeof(float), receive);
  for (const Shape shape : choice.shapes) {
    Exchange exchange(shape, choice, world, send, receive);
    const auto check = [&] {
      if (options.validate && !exchange.verify()) MPI_Abort(world.comm, 4);
    };
    if (options.validate) {
      exchange.fill();
      exchange.ping_pong(1);
      check();
    }
    const bench::Repeat repeat = bench::whole_time([&](int iterations) { exchange.ping_pong(iterations); });
    const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
    std::vector<double> samples = bench::measure(world, plan, repeat);
    check();
    for (double& sample : samples) sample *= 1e6 / (2.0 * plan.iterations);
    samples = bench::combine(world, std::move(samples), world.pairs(), bench::Combine::kMean);
    if (world.rank != 0) continue;
    const std::size_t floats = shape == Shape::kIndexed ? static_cast<std::size_t>(choice.random)
                                                        : choice.cube() / static_cast<std::size_t>(choice.edge);
    const bench::Statistics times = bench::summarise(samples, true);
    const std::size_t bytes = floats * sizeof(float);
    bench::add_row(report,
                   {bench::shape_name(shape),
                    bytes,
                    plan.iterations,
                    times,
                    {{"GB/s", static_cast<double>(bytes) / times.median * 1e-3}}},
                   table);
  }
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Choice choice;
  bench::OptionTable table = bench::common_options(options);
  table.add("--edge", "N", "floats along an edge of the cube (258)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.edge); });
  table.add("--random", "N", "floats of the indexed type (64K)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.random); });
  table.add("--shapes", "LIST", "of contiguous, rows, elements, indexed (all)",
            [&](const std::string& v) { return parse_shapes(v, choice.shapes); });
  const bench::Program program{"faces", "One-way latency of faces of a cube of floats, as derived types.", "2", true,
                               [&](std::string& message) { return sensible(choice, message); }};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const World& world) { return run_all(program, world, options, choice); });
}
