// Copies and fills of the fake driver.
//
// Pageable host memory (which the driver neither allocated nor registered) behaves as on hardware: a copy from it reads
// it during the call, whatever the stream has to do before; a copy into it waits for the stream. Captured copies do
// neither.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "non_coherent.hpp"
#include "state.hpp"
#include "stream.hpp"
#include "stream_state.hpp"

using namespace fake_cuda;
using fake_cuda::non_coherent::device_view;

namespace {

struct Begun {
  Result result = kSuccess;
  Context* context = nullptr;
  Stream* stream = nullptr;
};
Begun begin(void* stream, const char* call) {
  Begun begun;
  begun.result = require_context(&begun.context, call);
  if (begun.result != kSuccess) return begun;
  begun.result = use_stream(begun.context, stream, &begun.stream, call);
  return begun;
}

Result check(Context* context, Address address, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  return check_access(context, address, bytes, false);
}

bool is_pageable(Address address) {
  std::lock_guard lock(state().mutex);
  return !in_device_range(address) && find_allocation(address) == nullptr;
}

bool is_captured(Stream* stream) {
  std::lock_guard lock(work_mutex());
  return stream->capture != nullptr;
}

// Source of a copy: its contents now if it is pageable, else its contents when the copy is made.
class Source {
 public:
  // Describes `rows` pieces of `bytes` bytes, `pitch` bytes apart.
  Source(Stream* stream, Address from, std::size_t bytes, std::size_t rows = 1, std::size_t pitch = 0) : from_(from) {
    if (!is_pageable(from) || is_captured(stream)) return;
    now_ = std::make_shared<std::vector<unsigned char>>((rows - 1) * pitch + bytes);
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(now_->data() + row * pitch, reinterpret_cast<const void*>(from + row * pitch), bytes);
    }
  }
  [[nodiscard]] const void* at(std::size_t offset) const {
    return now_ != nullptr ? now_->data() + offset : device_view(from_ + offset);
  }

 private:
  Address from_;
  std::shared_ptr<std::vector<unsigned char>> now_;
};

// Keeps the lock that most calls of the process need, with FAKE_CUDA_QUEUE.
Result after_copy_to(Stream* stream, Address to) {
  const Submission submission;
  return is_pageable(to) && !is_captured(stream) ? synchronize_stream(stream) : kSuccess;
}

// FAKE_CUDA_SLOW=device: the device's copies take a millisecond per MiB longer.
void be_slow(const Context& context, std::size_t bytes) {
  static const char* const slow = std::getenv("FAKE_CUDA_SLOW");
  if (slow != nullptr && std::atoi(slow) == context.device)
    std::this_thread::sleep_for(std::chrono::microseconds(bytes * 1000 >> 20));
}

// `call`, here and below: the driver function called by the program.
Result copy_on(void* stream, Address to, Address from, std::size_t bytes, const char* call = __builtin_FUNCTION()) {
  const Begun begun = begin(stream, call);
  if (begun.result != kSuccess) return begun.result;
  if (bytes == 0) return kSuccess;
  if (const Result result = check(begun.context, to, bytes); result != kSuccess) return result;
  if (const Result result = check(begun.context, from, bytes); result != kSuccess) return result;
  enqueue(begun.stream, [=, source = Source(begun.stream, from, bytes)] {
    be_slow(*begun.context, bytes);
    std::memmove(device_view(to), source.at(0), bytes);
    pages_go_to_device(from, bytes);
    pages_go_to_device(to, bytes);
    return kSuccess;
  });
  return after_copy_to(begun.stream, to);
}

Result wait(Result result) {
  if (result != kSuccess) return result;
  return synchronize_stream(current_context()->legacy);
}

Result fill_on(void* stream, Address to, unsigned value, std::size_t width, std::size_t count,
               const char* call = __builtin_FUNCTION()) {
  const Begun begun = begin(stream, call);
  if (begun.result != kSuccess) return begun.result;
  if (count == 0) return kSuccess;
  if (const Result result = check(begun.context, to, width * count); result != kSuccess) return result;
  enqueue(begun.stream, [=] {
    auto* at = static_cast<unsigned char*>(device_view(to));
    if (width == 1) {
      std::memset(at, static_cast<int>(value), count);
    } else {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(at + i * width, &value, width);
    }
    pages_go_to_device(to, width * count);
    return kSuccess;
  });
  return kSuccess;
}

Address address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// One operand of a 2D or 3D copy.
struct Operand {
  std::size_t x, y, z;
  unsigned type;  // CU_MEMORYTYPE_*
  const void* host;
  Address device;
  std::size_t pitch, height;
  Address start() const { return (type == 1 ? address_of(host) : device) + (z * height + y) * pitch + x; }
};

Result copy_box(void* stream, const Operand& from, const Operand& to, std::size_t width, std::size_t height,
                std::size_t depth, const char* call) {
  const Begun begun = begin(stream, call);
  if (begun.result != kSuccess) return begun.result;
  if (width == 0 || height == 0 || depth == 0) return kSuccess;
  for (const Operand* side : {&from, &to}) {
    if (side->type == 3 || (side->pitch < width && height * depth > 1)) return kInvalidValue;
    const std::size_t span = ((depth - 1) * side->height + height - 1) * side->pitch + width;
    if (const Result result = check(begun.context, side->start(), span); result != kSuccess) return result;
  }
  const std::size_t rows = (depth - 1) * from.height + height;
  enqueue(begun.stream, [=, source = Source(begun.stream, from.start(), width, rows, from.pitch)] {
    for (std::size_t z = 0; z < depth; ++z) {
      for (std::size_t y = 0; y < height; ++y) {
        std::memmove(device_view(to.start() + (z * to.height + y) * to.pitch),
                     source.at((z * from.height + y) * from.pitch), width);
        pages_go_to_device(to.start() + (z * to.height + y) * to.pitch, width);
        pages_go_to_device(from.start() + (z * from.height + y) * from.pitch, width);
      }
    }
    return kSuccess;
  });
  return after_copy_to(begun.stream, to.start());
}

struct Copy2D {
  std::size_t source_x, source_y;
  unsigned source_type;
  const void* source_host;
  Address source_device;
  void* source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  unsigned target_type;
  void* target_host;
  Address target_device;
  void* target_array;
  std::size_t target_pitch;
  std::size_t width, height;
};
struct Copy3D {
  std::size_t source_x, source_y, source_z, source_lod;
  unsigned source_type;
  const void* source_host;
  Address source_device;
  void* source_array;
  void* reserved0;
  std::size_t source_pitch, source_height;
  std::size_t target_x, target_y, target_z, target_lod;
  unsigned target_type;
  void* target_host;
  Address target_device;
  void* target_array;
  void* reserved1;
  std::size_t target_pitch, target_height;
  std::size_t width, height, depth;
};

Result copy_2d(const Copy2D* c, void* stream, const char* call = __builtin_FUNCTION()) {
  return copy_box(stream,
                  {c->source_x, c->source_y, 0, c->source_type, c->source_host, c->source_device, c->source_pitch, 0},
                  {c->target_x, c->target_y, 0, c->target_type, c->target_host, c->target_device, c->target_pitch, 0},
                  c->width, c->height, 1, call);
}
Result copy_3d(const Copy3D* c, void* stream, const char* call = __builtin_FUNCTION()) {
  return copy_box(stream,
                  {c->source_x, c->source_y, c->source_z, c->source_type, c->source_host, c->source_device,
                   c->source_pitch, c->source_height},
                  {c->target_x, c->target_y, c->target_z, c->target_type, c->target_host, c->target_device,
                   c->target_pitch, c->target_height},
                  c->width, c->height, c->depth, call);
}

}  // namespace

FAKE_API Result cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
  return copy_on(stream, to, from, bytes);
}
FAKE_API Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream) {
  return copy_on(stream, to, address_of(from), bytes);
}
FAKE_API Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream) {
  return copy_on(stream, address_of(to), from, bytes);
}
FAKE_API Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void* stream) {
  return copy_on(stream, to, from, bytes);
}
FAKE_API Result cuMemcpy(Address to, Address from, std::size_t bytes) {
  return wait(copy_on(nullptr, to, from, bytes));
}
FAKE_API Result cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  return wait(copy_on(nullptr, to, address_of(from), bytes));
}
FAKE_API Result cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  return wait(copy_on(nullptr, address_of(to), from, bytes));
}
// A copy within the device may return before it is done, as on hardware.
FAKE_API Result cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes) {
  return copy_on(nullptr, to, from, bytes);
}

namespace {
Result copy_between(Address to, Context* to_context, Address from, Context* from_context, std::size_t bytes,
                    void* stream, const char* call = __builtin_FUNCTION()) {
  const Begun begun = begin(stream, call);
  if (begun.result != kSuccess) return begun.result;
  if (!live(to_context) || !live(from_context)) return kInvalidContext;
  if (bytes == 0) return kSuccess;
  if (const Result result = check(to_context, to, bytes); result != kSuccess) return result;
  if (const Result result = check(from_context, from, bytes); result != kSuccess) return result;
  enqueue(begun.stream, [=, source = Source(begun.stream, from, bytes)] {
    std::memmove(device_view(to), source.at(0), bytes);
    pages_go_to_device(from, bytes);
    pages_go_to_device(to, bytes);
    return kSuccess;
  });
  return after_copy_to(begun.stream, to);
}
}  // namespace

FAKE_API Result cuMemcpyPeerAsync(Address to, Context* to_context, Address from, Context* from_context,
                                  std::size_t bytes, void* stream) {
  return copy_between(to, to_context, from, from_context, bytes, stream);
}
FAKE_API Result cuMemcpyPeer(Address to, Context* to_context, Address from, Context* from_context, std::size_t bytes) {
  return wait(copy_between(to, to_context, from, from_context, bytes, nullptr));
}

FAKE_API Result cuMemcpy2DAsync_v2(const Copy2D* what, void* stream) { return copy_2d(what, stream); }
FAKE_API Result cuMemcpy2D_v2(const Copy2D* what) { return wait(copy_2d(what, nullptr)); }
FAKE_API Result cuMemcpy2DUnaligned_v2(const Copy2D* what) { return wait(copy_2d(what, nullptr)); }
FAKE_API Result cuMemcpy3DAsync_v2(const Copy3D* what, void* stream) { return copy_3d(what, stream); }
FAKE_API Result cuMemcpy3D_v2(const Copy3D* what) { return wait(copy_3d(what, nullptr)); }

FAKE_API Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, void* stream) {
  return fill_on(stream, to, value, 1, count);
}
FAKE_API Result cuMemsetD16Async(Address to, unsigned short value, std::size_t count, void* stream) {
  return fill_on(stream, to, value, 2, count);
}
FAKE_API Result cuMemsetD32Async(Address to, unsigned value, std::size_t count, void* stream) {
  return fill_on(stream, to, value, 4, count);
}
FAKE_API Result cuMemsetD8_v2(Address to, unsigned char value, std::size_t count) {
  return fill_on(nullptr, to, value, 1, count);
}
FAKE_API Result cuMemsetD16_v2(Address to, unsigned short value, std::size_t count) {
  return fill_on(nullptr, to, value, 2, count);
}
FAKE_API Result cuMemsetD32_v2(Address to, unsigned value, std::size_t count) {
  return fill_on(nullptr, to, value, 4, count);
}
