// Host backend: memcpy and memmove, row by row. Updates in place, from the far end, so that no value is
// overwritten before it has moved.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "backend.hpp"

namespace halo3d {
namespace {

// Elements are only moved, so float and double are handled as words of the same size.
template <class Word>
class HostBackend final : public Backend {
 public:
  explicit HostBackend(const Shape& shape) : shape_(shape) {
    fields_ = static_cast<Word*>(allocate(kFields * shape.volume() * sizeof(Word)));
  }

  const char* name() const override { return "host"; }
  bool on_device() const override { return false; }
  void* fields() override { return fields_; }
  void upload(const void* from) override { std::memcpy(fields_, from, bytes()); }
  void download(void* to) override { std::memcpy(to, fields_, bytes()); }

  void* allocate(std::size_t bytes) override {
    // The memory is touched here, so that first-use page faults are not part of a measurement.
    memory_.emplace_back(new char[bytes + kAlignment]());
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.back().get());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }

  void pack(const Box& box, int first, int count, void* to) override {
    auto* out = static_cast<Word*>(to);
    each_row(box, first, count, [&](Word* row, std::size_t length) {
      if (length == 1) {
        *out = *row;
      } else {
        std::memcpy(out, row, length * sizeof(Word));
      }
      out += length;
    });
  }
  void unpack(const Box& box, int first, int count, const void* from) override {
    const auto* in = static_cast<const Word*>(from);
    each_row(box, first, count, [&](Word* row, std::size_t length) {
      if (length == 1) {
        *row = *in;
      } else {
        std::memcpy(row, in, length * sizeof(Word));
      }
      in += length;
    });
  }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  void pack_faces(const Faces& to) override {
    for (int face = 0; face < kAxes * kWays; ++face) {
      pack(send_box(shape_, face / kWays, face % kWays), 0, kFields, to[face / kWays][face % kWays]);
    }
  }

  void update(int way, Part part) override {
    for (int field = 0; field < kFields; ++field) shift(field, way, update_box(shape_, field, way, part));
  }
  void finish_update() override {}
  void update_boundary(int way, const Faces& arrived) override {
    for (int field = 0; field < kFields; ++field) {
      const Box box = update_box(shape_, field, way, Part::kBoundary);
      unpack(box, field, 1, static_cast<Word*>(arrived[field][way]) + static_cast<std::size_t>(field) * box.volume());
    }
  }
  void wait() override {}
  void finish_step() override {}
  void hand_over_step() override {}
  void wait_for_step() override {}

 private:
  static constexpr std::size_t kAlignment = 4096;

  std::size_t bytes() const { return kFields * shape_.volume() * sizeof(Word); }
  Word* field(int index) { return fields_ + static_cast<std::size_t>(index) * shape_.volume(); }

  template <class Function>
  void each_row(const Box& box, int first, int count, Function&& function) {
    const auto length = static_cast<std::size_t>(box.extent(0));
    for (int f = first; f < first + count; ++f) {
      for (int k = box.lo[2]; k < box.hi[2]; ++k) {
        for (int j = box.lo[1]; j < box.hi[1]; ++j) function(field(f) + shape_.at(box.lo[0], j, k), length);
      }
    }
  }

  // Sets field `axis` in `box` to the values one point upstream along `axis`.
  void shift(int axis, int way, const Box& box) {
    const std::size_t bytes = static_cast<std::size_t>(box.extent(0)) * sizeof(Word);
    const auto back = static_cast<std::ptrdiff_t>(shape_.stride(axis)) * way_step(way);
    for (int kk = 0; kk < box.extent(2); ++kk) {
      const int k = way == 0 ? box.hi[2] - 1 - kk : box.lo[2] + kk;
      for (int jj = 0; jj < box.extent(1); ++jj) {
        const int j = way == 0 ? box.hi[1] - 1 - jj : box.lo[1] + jj;
        Word* row = field(axis) + shape_.at(box.lo[0], j, k);
        std::memmove(row, row - back, bytes);
      }
    }
  }

  Shape shape_;
  std::vector<std::unique_ptr<char[]>> memory_;
  Word* fields_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(const Shape& shape) {
  if (shape.element_bytes == 4) return std::make_unique<HostBackend<std::uint32_t>>(shape);
  return std::make_unique<HostBackend<std::uint64_t>>(shape);
}

}  // namespace halo3d
