// datatypes: times of MPI_Pack and MPI_Unpack for common layouts, in microseconds, compared with one memcpy of the same
// number of bytes, and with a hand-written loop for the layout ("bare") between the same buffers. Ranks work
// independently; the slowest one counts.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "common/measure.hpp"
#include "common/program.hpp"
#include "datatypes/bare.hpp"

namespace {

using bench::Options;
using bench::World;

// A contiguous run of a type's bytes, computed without datatypes, so that the check does not depend on the library's
// view of the type.
struct Run {
  std::size_t offset, length;
};

// Moves the layout's data between typed and packed memory.
using Bare = std::function<void(unsigned char* typed, unsigned char* packed)>;

struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<Run> runs;
  Bare pack, unpack;
  std::size_t span = 0;  // bytes from the buffer's start to the end of the last segment
};

Layout finished(MPI_Datatype type, std::vector<Run> runs, Bare pack, Bare unpack) {
  Layout layout{type, std::move(runs), std::move(pack), std::move(unpack), 0};
  MPI_Type_commit(&layout.type);
  for (const Run& run : layout.runs) layout.span = std::max(layout.span, run.offset + run.length);
  return layout;
}

// Blocks of kBlock doubles, with gaps of the same length.
template <int kBlock>
Layout vector_of(std::size_t bytes) {
  constexpr std::size_t kWidth = sizeof(double) * kBlock;
  const std::size_t count = std::max<std::size_t>(1, bytes / kWidth);
  MPI_Datatype type;
  MPI_Type_vector(static_cast<int>(count), kBlock, 2 * kBlock, MPI_DOUBLE, &type);
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back({2 * i * kWidth, kWidth});
  return finished(
      type, std::move(runs),
      [=](auto* typed, auto* packed) { bench::bare::vector<true, kWidth>(typed, packed, count); },
      [=](auto* typed, auto* packed) { bench::bare::vector<false, kWidth>(typed, packed, count); });
}

// Single doubles in random order.
Layout indexed_of(std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(double));
  std::vector<int> at(2 * count);
  std::iota(at.begin(), at.end(), 0);
  std::shuffle(at.begin(), at.end(), std::mt19937(7));
  at.resize(count);
  MPI_Datatype type;
  MPI_Type_create_indexed_block(static_cast<int>(count), 1, at.data(), MPI_DOUBLE, &type);
  std::vector<Run> runs;
  for (const int place : at) runs.push_back({static_cast<std::size_t>(place) * sizeof(double), sizeof(double)});
  return finished(
      type, std::move(runs), [=](auto* typed, auto* packed) { bench::bare::indexed<true>(typed, packed, at); },
      [=](auto* typed, auto* packed) { bench::bare::indexed<false>(typed, packed, at); });
}

// An array of structures with internal and trailing padding.
struct Particle {
  char kind;
  int id;
  double position[3];
  short flags;
};
Layout struct_of(std::size_t bytes) {
  const int lengths[] = {1, 1, 3, 1};
  const MPI_Aint offsets[] = {offsetof(Particle, kind), offsetof(Particle, id), offsetof(Particle, position),
                              offsetof(Particle, flags)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype packed, one, all;
  MPI_Type_create_struct(4, lengths, offsets, types, &packed);
  MPI_Type_create_resized(packed, 0, sizeof(Particle), &one);
  const std::size_t payload = sizeof(char) + sizeof(int) + 3 * sizeof(double) + sizeof(short);
  const std::size_t count = std::max<std::size_t>(1, bytes / payload);
  MPI_Type_contiguous(static_cast<int>(count), one, &all);
  MPI_Type_free(&packed);
  MPI_Type_free(&one);
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t base = i * sizeof(Particle);
    runs.push_back({base + offsetof(Particle, kind), sizeof(char)});
    runs.push_back({base + offsetof(Particle, id), sizeof(int)});
    runs.push_back({base + offsetof(Particle, position), 3 * sizeof(double)});
    runs.push_back({base + offsetof(Particle, flags), sizeof(short)});
  }
  return finished(
      all, std::move(runs),
      [=](auto* typed, auto* packed) { bench::bare::structs<true, Particle>(typed, packed, count); },
      [=](auto* typed, auto* packed) { bench::bare::structs<false, Particle>(typed, packed, count); });
}

// The inner block of a 3D array of doubles with one layer around it.
Layout subarray_of(std::size_t bytes) {
  int edge = 1;
  while (static_cast<std::size_t>(edge + 1) * (edge + 1) * (edge + 1) * sizeof(double) <= bytes) ++edge;
  const int sizes[] = {edge + 2, edge + 2, edge + 2}, lengths[] = {edge, edge, edge}, starts[] = {1, 1, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, lengths, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  std::vector<Run> runs;
  for (int z = 1; z <= edge; ++z) {
    for (int y = 1; y <= edge; ++y) {
      const auto element = static_cast<std::size_t>((z * (edge + 2) + y) * (edge + 2) + 1);
      runs.push_back({element * sizeof(double), static_cast<std::size_t>(edge) * sizeof(double)});
    }
  }
  const auto rows = static_cast<std::size_t>(edge);
  return finished(
      type, std::move(runs), [=](auto* typed, auto* packed) { bench::bare::cube<true>(typed, packed, rows); },
      [=](auto* typed, auto* packed) { bench::bare::cube<false>(typed, packed, rows); });
}

struct Kind {
  const char* name;
  Layout (*make)(std::size_t bytes);
};
constexpr Kind kKinds[] = {{"vector of 1", vector_of<1>},
                           {"vector of 16", vector_of<16>},
                           {"indexed", indexed_of},
                           {"struct", struct_of},
                           {"subarray", subarray_of}};

class Measurement {
 public:
  explicit Measurement(Layout layout) : layout_(std::move(layout)), source_(layout_.span), target_(layout_.span) {
    for (const Run& run : layout_.runs) bytes_ += run.length;
    int size = 0;
    MPI_Pack_size(1, layout_.type, MPI_COMM_SELF, &size);
    packed_.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<unsigned char>(i * 31 + 7);
    other_.resize(bytes_);
  }
  ~Measurement() { MPI_Type_free(&layout_.type); }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  std::size_t bytes() const { return bytes_; }

  void pack() {
    length_ = 0;
    MPI_Pack(source_.data(), 1, layout_.type, packed_.data(), static_cast<int>(packed_.size()), &length_,
             MPI_COMM_SELF);
  }
  void unpack() {
    int position = 0;
    MPI_Unpack(packed_.data(), length_, &position, target_.data(), 1, layout_.type, MPI_COMM_SELF);
  }
  void copy() { std::memcpy(other_.data(), packed_.data(), std::min(bytes_, packed_.size())); }

  void bare_pack() {
    layout_.pack(source_.data(), packed_.data());
    asm volatile("" : : "r"(packed_.data()) : "memory");  // keeps the copy from being optimized away
  }
  void bare_unpack() {
    layout_.unpack(target_.data(), packed_.data());
    asm volatile("" : : "r"(target_.data()) : "memory");
  }

  // Packs and unpacks; true if all segments arrive and the gaps are unchanged.
  bool verify() {
    std::fill(target_.begin(), target_.end(), kGap);
    pack();
    unpack();
    std::vector<unsigned char> expected(target_.size(), kGap);
    for (const Run& run : layout_.runs) std::memcpy(&expected[run.offset], &source_[run.offset], run.length);
    return expected == target_;
  }

 private:
  static constexpr unsigned char kGap = 0xA5;

  Layout layout_;
  std::vector<unsigned char> source_, target_, packed_, other_;
  std::size_t bytes_ = 0;
  int length_ = 0;
};

int run_all(const bench::Program& program, const World& world, const Options& options) {
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  for (const Kind& kind : kKinds) {
    for (const std::size_t asked : options.sizes) {
      Measurement measurement(kind.make(asked));
      if (options.validate && !measurement.verify()) {
        std::fprintf(stderr, "datatypes: rank %d: %s of %zu bytes does not come back as it was\n", world.rank,
                     kind.name, measurement.bytes());
        MPI_Abort(world.comm, 4);
      }
      measurement.pack();
      const auto time = [&](void (Measurement::*work)(), bench::Plan& plan) {
        const bench::Repeat repeat = bench::whole_time([&](int iterations) {
          for (int i = 0; i < iterations; ++i) (measurement.*work)();
        });
        plan = bench::agree_on_plan(world, options, repeat);
        std::vector<double> samples = bench::measure(world, plan, repeat);
        for (double& sample : samples) sample *= 1e6 / plan.iterations;
        return bench::summarise(bench::combine(world, std::move(samples), world.size, bench::Combine::kMax), true);
      };
      bench::Plan plan{};
      const double copied = time(&Measurement::copy, plan).median;
      for (const bool packs : {true, false}) {
        const double bare = time(packs ? &Measurement::bare_pack : &Measurement::bare_unpack, plan).median;
        const bench::Statistics times = time(packs ? &Measurement::pack : &Measurement::unpack, plan);
        if (world.rank != 0) continue;
        bench::add_row(report,
                       {(packs ? "pack " : "unpack ") + std::string(kind.name),
                        measurement.bytes(),
                        plan.iterations,
                        times,
                        {{"memcpy us", copied}, {"bare us", bare}, {"x bare", times.median / bare}}},
                       table);
      }
    }
  }
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.min = 1024;
  options.max = std::size_t{4} << 20;
  options.factor = 16;
  const bench::Program program{.name = "datatypes",
                               .sentence = "MPI_Pack and MPI_Unpack of common layouts, beside memcpy and bare loops.",
                               .ranks = "1",
                               .host_alone = true};
  return bench::run_program(argc, argv, program, bench::common_options(options), options,
                            [&](const World& world) { return run_all(program, world, options); });
}
