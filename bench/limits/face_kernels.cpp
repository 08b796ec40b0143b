#include "limits/face_kernels.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "limits/face.hpp"

extern "C" const unsigned char gpu_limits_fatbin[];

namespace bench {
namespace {

constexpr unsigned kWordsEach[] = {1, 2, 4};
constexpr unsigned kBlocks[] = {64, 128, 256};

// Describes the face in words of `width` bytes. Returns false if it does not consist of such words.
bool face_of(Shape shape, int edge, unsigned width, Face& face) {
  const auto n = static_cast<unsigned>(edge);
  const auto from = static_cast<unsigned>(plane_of(Side::kSend, edge));
  const auto to = static_cast<unsigned>(plane_of(Side::kReceive, edge));
  const unsigned words = width / static_cast<unsigned>(sizeof(float));
  switch (shape) {
    case Shape::kContiguous:
      face = {1, n * n, n * n, 1, from * n * n, to * n * n};
      break;
    case Shape::kRows:
      face = {n, n, n * n, 1, from * n, to * n};
      break;
    default:
      face = {n, n, n * n, n, from, to};
      return width == sizeof(float);
  }
  for (unsigned* value : {&face.inner, &face.outer_stride, &face.from, &face.to}) {
    if (*value % words != 0) return false;
    *value /= words;
  }
  return true;
}

// The kernels, loaded on both devices because either may run them.
class Kernels {
 public:
  explicit Kernels(const Devices& devices) {
    for (int side = 0; side < 2; ++side) {
      devices.select(side);
      modules_[side] = std::make_unique<gpu::Module>(gpu_limits_fatbin);
    }
  }
  gpu::Function function(int side, const std::string& name) const { return modules_[side]->function(name.c_str()); }

 private:
  std::unique_ptr<gpu::Module> modules_[2];
};

// A kernel launch and the side that runs it.
struct Variant {
  int side;
  std::string how;
  std::function<void()> launch;
};

unsigned blocks_for(std::size_t words, unsigned each, unsigned threads) {
  const std::size_t a_block = std::size_t{each} * threads;
  return static_cast<unsigned>((words + a_block - 1) / a_block);
}

std::string words_of(unsigned width, unsigned each, unsigned threads) {
  return std::to_string(width) + "-byte words, " + std::to_string(each) + " a thread, blocks of " +
         std::to_string(threads);
}

class Contest {
 public:
  Contest(const Devices& devices, Shape shape, int edge, int random_count)
      : devices_(devices),
        shape_(shape),
        edge_(edge),
        from_at_(positions(shape, Side::kSend, edge, static_cast<std::size_t>(random_count))),
        to_at_(positions(shape, Side::kReceive, edge, static_cast<std::size_t>(random_count))),
        kernels_(devices),
        from_(devices, 0, cube_bytes()),
        to_(devices, 1, cube_bytes()) {
    shape == Shape::kIndexed ? add_elements() : add_faces();
    if (shape == Shape::kContiguous) add_copy();
  }

  FaceLimit run(const Effort& effort) {
    FaceLimit limit;
    limit.bytes = from_at_.size() * sizeof(float);
    const Effort trial{effort.least, effort.most / 10, effort.microseconds / 10};
    double best = 0;
    for (const Variant& variant : variants_) {
      const double median = sample(trial, [&] { return devices_.timed(variant.side, variant.launch); }).median;
      if (best_ != nullptr && median >= best) continue;
      best_ = &variant;
      best = median;
    }
    limit.how = best_->how;
    limit.best = sample(effort, [&] { return devices_.timed(best_->side, best_->launch); });
    if (shape_ == Shape::kRows) measure_pitched(effort, &limit);
    return limit;
  }

  // Runs the fastest variant on a cube of known content and returns the first difference.
  std::string difference() {
    std::vector<std::uint32_t> source(cube_bytes() / sizeof(std::uint32_t)), expected(source.size(), kUntouched);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint32_t>(i);
    for (std::size_t k = 0; k < to_at_.size(); ++k) {
      expected[static_cast<std::size_t>(to_at_[k])] = source[static_cast<std::size_t>(from_at_[k])];
    }
    std::vector<std::uint32_t> found(source.size(), kUntouched);
    devices_.select(0);
    gpu::copy(from_.as(), source.data(), cube_bytes());
    devices_.select(1);
    gpu::copy(to_.as(), found.data(), cube_bytes());
    devices_.timed(best_->side, best_->launch);
    devices_.select(1);
    gpu::copy(found.data(), to_.as(), cube_bytes());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != expected[i]) return "word " + std::to_string(i) + " of the cube is wrong";
    }
    return "";
  }

 private:
  static constexpr std::uint32_t kUntouched = 0xA5A5A5A5u;

  std::size_t cube_bytes() const { return sizeof(float) * static_cast<std::size_t>(edge_) * edge_ * edge_; }
  static const char* direction(int side) { return side == 0 ? "push, " : "pull, "; }

  void add_faces() {
    for (const unsigned width : {4u, 8u, 16u}) {
      Face face;
      if (!face_of(shape_, edge_, width, face)) continue;
      for (const unsigned each : kWordsEach) {
        const std::string name = "limits_face" + std::to_string(width) + "x" + std::to_string(each);
        for (int side = 0; side < 2; ++side) {
          const gpu::Function function = kernels_.function(side, name);
          for (const unsigned threads : kBlocks) {
            const unsigned blocks = blocks_for(std::size_t{face.outer} * face.inner, each, threads);
            variants_.push_back({side, direction(side) + words_of(width, each, threads), [=, this] {
                                   gpu::launch(function, {blocks}, {threads}, devices_.stream(side), from_.as(),
                                               to_.as(), face);
                                 }});
          }
        }
      }
    }
  }

  void add_elements() {
    const std::size_t bytes = from_at_.size() * sizeof from_at_[0];
    for (int side = 0; side < 2; ++side) {
      const auto table = [&](const std::vector<std::int32_t>& at) {
        tables_.push_back(std::make_unique<Memory>(devices_, side, bytes));
        gpu::copy(tables_.back()->as(), at.data(), bytes);
        return tables_.back()->as();
      };
      void* from_at = table(from_at_);
      void* to_at = table(to_at_);
      for (const unsigned each : kWordsEach) {
        const gpu::Function function = kernels_.function(side, "limits_elements" + std::to_string(each));
        for (const unsigned threads : kBlocks) {
          const unsigned blocks = blocks_for(from_at_.size(), each, threads);
          variants_.push_back({side, direction(side) + words_of(4, each, threads), [=, this] {
                                 gpu::launch(function, {blocks}, {threads}, devices_.stream(side), from_.as(), to_.as(),
                                             from_at, to_at, static_cast<unsigned>(from_at_.size()));
                               }});
        }
      }
    }
  }

  void add_copy() {
    const std::size_t bytes = from_at_.size() * sizeof(float);
    for (int side = 0; side < 2; ++side) {
      variants_.push_back({side, direction(side) + std::string("copy engine"), [=, this] {
                             gpu::copy_async(to_.as<float>() + to_at_.front(), from_.as<float>() + from_at_.front(),
                                             bytes, devices_.stream(side));
                           }});
    }
  }

  void measure_pitched(const Effort& effort, FaceLimit* limit) {
    const auto n = static_cast<std::size_t>(edge_);
    const std::size_t row = n * sizeof(float), pitch = n * row;
    for (int side = 0; side < 2; ++side) {
      const Statistics found = sample(effort, [&] {
        return devices_.timed(side, [&] {
          gpu::copy_pitched_async(to_.as<float>() + to_at_.front(), pitch, from_.as<float>() + from_at_.front(), pitch,
                                  row, n, devices_.stream(side));
        });
      });
      if (side == 1 && found.median >= limit->pitched.median) continue;
      limit->pitched = found;
      limit->pitched_how = direction(side) + std::string("copy engine");
    }
  }

  const Devices& devices_;
  const Shape shape_;
  const int edge_;
  const std::vector<std::int32_t> from_at_, to_at_;
  const Kernels kernels_;
  const Memory from_, to_;
  std::vector<std::unique_ptr<Memory>> tables_;
  std::vector<Variant> variants_;
  const Variant* best_ = nullptr;
};

}  // namespace

FaceLimit measure_face(const Devices& devices, Shape shape, int edge, int random_count, const Effort& effort,
                       bool validate) {
  Contest contest(devices, shape, edge, random_count);
  FaceLimit limit = contest.run(effort);
  if (validate) limit.difference = contest.difference();
  return limit;
}

}  // namespace bench
