// Reductions by kernels, compared bit by bit with the host engine: every type and operation, all relevant numbers of
// inputs and outputs, in place, from peers, at any alignment; no byte except the results changes.
#include "layout/device/reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/abi.hpp"
#include "main.hpp"
#include "operands.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using mem::device::DeviceAddress;

constexpr std::uintptr_t kOperations[] = {abi::kMin,    abi::kMax,    abi::kSum,     abi::kProd, abi::kLand,
                                          abi::kLor,    abi::kLxor,   abi::kBand,    abi::kBor,  abi::kBxor,
                                          abi::kMinloc, abi::kMaxloc, abi::kReplace, abi::kNoOp};

// Several buffers in one allocation, with space between them, and the expected content.
class Arena {
 public:
  Arena(std::size_t bytes, int device)
      : picture_(bytes, std::byte{0xa5}), memory_(bytes, MemoryKind::kDevice, device) {}
  // Returns the offset of a buffer that is `shift` bytes after a multiple of 64.
  std::size_t take(std::size_t bytes, std::size_t shift) {
    const std::size_t at = used_ + 64 + shift;
    used_ = (at + bytes + 63) / 64 * 64;
    EXPECT_LE(used_ + 64, picture_.size());
    return at;
  }
  [[nodiscard]] std::byte* picture(std::size_t at) { return picture_.data() + at; }
  [[nodiscard]] DeviceAddress address(std::size_t at) const {
    return reinterpret_cast<std::uintptr_t>(memory_.bytes()) + at;
  }
  [[nodiscard]] std::byte* pointer() const { return memory_.bytes(); }
  void write() { memory_.write(picture_); }
  [[nodiscard]] std::vector<std::byte> read() const { return memory_.read(); }
  [[nodiscard]] const std::vector<std::byte>& expected() const { return picture_; }

 private:
  std::vector<std::byte> picture_;
  std::size_t used_ = 0;
  DeviceMemory memory_;
};

struct Buffer {
  Arena* arena = nullptr;
  std::size_t at = 0;
  [[nodiscard]] std::byte* picture() const { return arena->picture(at); }
  [[nodiscard]] DeviceAddress address() const { return arena->address(at); }
};

enum class Alignment { kTogether, kApart, kBytes };

class ReduceByKernel : public hr::test::GpuTest {
 protected:
  std::size_t number(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random_);
  }

  // Checks one reduction of random operands; with `peer`, some buffers are on the last device. Returns false if there
  // are no kernels.
  bool check(const BasicType& row, Op& op, int ninputs, int noutputs, std::size_t count, Alignment alignment,
             bool peer) {
    const Datatype& type = *predefined_type(row.abi);
    const auto extent = static_cast<std::size_t>(type.extent());
    const std::size_t first = number(0, 1) * number(0, 5);
    const std::size_t bytes = (first + count) * extent;
    const std::size_t room = static_cast<std::size_t>(ninputs + noutputs + 1) * (bytes + 384);
    Arena arenas[] = {Arena(room, 0), Arena(peer ? room : 128, gpu::device_count() - 1)};

    std::size_t shift = number(0, 15) * row.alignment;
    const auto make_buffer = [&] {
      if (alignment == Alignment::kApart) shift = number(0, 15) * row.alignment;
      if (alignment == Alignment::kBytes) shift = number(0, 15);
      Arena& arena = arenas[peer ? number(0, 1) : 0];
      return Buffer{&arena, arena.take(bytes, shift)};
    };
    RandomScalars scalars(random_());
    const Parts parts = parts_of(row.basic);
    std::vector<Buffer> inputs;
    std::vector<Buffer> outputs;
    for (int i = 0; i < ninputs; ++i) {
      inputs.push_back(make_buffer());
      std::byte* const to = inputs.back().picture();
      for (std::size_t at = 0; at + parts.bytes <= bytes; at += parts.bytes) scalars.put(parts, to + at);
    }
    // An output may be the same as an input.
    const std::size_t shared = number(0, static_cast<std::size_t>(2 * ninputs));
    for (int i = 0; i < noutputs; ++i) {
      outputs.push_back(i == 0 && shared < inputs.size() ? inputs[shared] : make_buffer());
    }
    for (Arena& arena : arenas) arena.write();

    bool launched = false;
    launch(op, type, inputs, outputs, first, count, arenas[0], &launched);
    if (HasFatalFailure() || !launched) return false;

    expect(op, type, row, inputs, outputs, first, count);
    for (Arena& arena : arenas) {
      std::vector<std::byte> content = arena.read();
      const bool arithmetic = op.kind() == OpKind::kSum || op.kind() == OpKind::kProd;
      for (const Buffer& output : outputs) {
        if (!arithmetic || output.arena != &arena) continue;
        for (std::size_t at = first * extent; at < bytes; at += parts.bytes) {
          forget_payload(parts, content.data() + output.at + at);
          forget_payload(parts, output.picture() + at);
        }
      }
      if (content == arena.expected()) continue;
      const auto differs = std::mismatch(content.begin(), content.end(), arena.expected().begin());
      ADD_FAILURE() << "first difference at byte " << differs.first - content.begin() << " of arena "
                    << (&arena - arenas) << ", output 0 at " << outputs[0].at << " of arena "
                    << (outputs[0].arena - arenas);
    }
    return true;
  }

  const std::uint64_t seed = test_seed();

  static mem::device::Context* context_of(const Arena& arena) {
    mem::Location where;
    mem::device::Context* context = nullptr;
    EXPECT_OK(mem::classify(arena.pointer(), &where));
    EXPECT_OK(mem::device::Context::of(where, &context));
    return context;
  }

 private:
  static void launch(Op& op, const Datatype& type, const std::vector<Buffer>& inputs,
                     const std::vector<Buffer>& outputs, std::size_t first, std::size_t count, const Arena& local,
                     bool* launched) {
    device::Reduction reduction;
    reduction.ninputs = static_cast<int>(inputs.size());
    reduction.noutputs = static_cast<int>(outputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) reduction.inputs[i] = inputs[i].address();
    for (std::size_t i = 0; i < outputs.size(); ++i) reduction.outputs[i] = outputs[i].address();
    reduction.first = static_cast<Count>(first);
    reduction.count = static_cast<Count>(count);
    mem::device::Context* context = context_of(local);
    ASSERT_NE(context, nullptr);
    const mem::device::Current current(*context);
    ASSERT_OK(current.status());
    ASSERT_OK(device::launch_reduce(*context, op, type, reduction, launched));
    ASSERT_OK(context->synchronize("a reduction"));
  }

  // Combines the operands from left to right with the host engine, and stores the result in the outputs' expected
  // content.
  static void expect(Op& op, const Datatype& type, const BasicType& row, const std::vector<Buffer>& inputs,
                     const std::vector<Buffer>& outputs, std::size_t first, std::size_t count) {
    const auto extent = static_cast<std::size_t>(type.extent());
    const auto operand = [&](const Buffer& buffer) {
      const std::byte* begin = buffer.picture() + first * extent;
      return std::vector<std::byte>(begin, begin + count * extent);
    };
    std::vector<std::byte> left = operand(inputs[0]);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      std::vector<std::byte> right = operand(inputs[i]);
      ASSERT_OK(apply(op, left.data(), right.data(), static_cast<Count>(count), type));
      left = std::move(right);
    }
    // The members of pairs are compared separately, and padding must not change.
    const std::size_t value = row.value_abi != 0 ? basic_type(row.value_abi)->size : extent;
    const std::size_t index = row.value_abi != 0 ? basic_type(row.index_abi)->size : 0;
    for (const Buffer& output : outputs) {
      for (std::size_t e = 0; e < count; ++e) {
        std::byte* const to = output.picture() + (first + e) * extent;
        std::memcpy(to, left.data() + e * extent, value);
        std::memcpy(to + extent / 2, left.data() + e * extent + extent / 2, index);
      }
    }
  }

  std::mt19937_64 random_{seed};
};

TEST_F(ReduceByKernel, EveryTypeAndOperation) {
  constexpr Alignment kAlignments[] = {Alignment::kTogether, Alignment::kApart, Alignment::kBytes};
  int combinations = 0;
  for (const BasicType& row : basic_types()) {
    for (const std::uintptr_t operation : kOperations) {
      Op& op = *predefined_op(operation);
      if (!device::can_reduce(op, *predefined_type(row.abi))) continue;
      ++combinations;
      for (const int ninputs : {1, 2, 3, 8, 16}) {
        for (const Alignment alignment : kAlignments) {
          const std::size_t count = number(0, 3) == 0 ? number(1, 5) : number(1, 60) * 2 + 1;
          const int noutputs = number(0, 2) == 0 ? static_cast<int>(number(2, 16)) : 1;
          SCOPED_TRACE(::testing::Message()
                       << row.name << ", operation " << operation << ", " << ninputs << " inputs, " << noutputs
                       << " outputs, " << count << " elements, alignment " << static_cast<int>(alignment));
          const bool launched = check(row, op, ninputs, noutputs, count, alignment, false);
          if (HasFailure()) return;
          if (!launched) GTEST_SKIP() << "no kernels";
        }
      }
    }
  }
  std::printf("%d types with their operations\n", combinations);
  EXPECT_GT(combinations, 300);
}

TEST_F(ReduceByKernel, FromAndToPeers) {
  {
    const Arena here(256, 0);
    const Arena there(256, gpu::device_count() - 1);
    mem::device::Context* context = context_of(here);
    const mem::device::Current current(*context);
    if (context == context_of(there) || !context->can_access(*context_of(there))) GTEST_SKIP() << "no peer";
  }
  for (int i = 0; i < 50; ++i) {
    const int ninputs = static_cast<int>(number(1, 16));
    const int noutputs = static_cast<int>(number(1, 16));
    const std::size_t count = number(1, 3000);
    SCOPED_TRACE(::testing::Message() << ninputs << " inputs, " << noutputs << " outputs, " << count << " elements");
    const bool launched = check(*basic_type(abi::kFloat), *predefined_op(abi::kSum), ninputs, noutputs, count,
                                i % 2 == 0 ? Alignment::kTogether : Alignment::kApart, true);
    if (HasFailure()) return;
    if (!launched) GTEST_SKIP() << "no kernels";
  }
}

// Vectors are long enough for threads to loop several times, with several vectors in flight.
TEST_F(ReduceByKernel, LongVectors) {
  struct Case {
    std::uintptr_t type, op;
    int ninputs, noutputs;
    std::size_t bytes;
  };
  const auto threads = static_cast<std::size_t>(context_of(Arena(256, 0))->multiprocessors()) * 4 * 256;
  const std::size_t much = 15 * threads * 16 / 2;  // seven vectors per thread, eight for some
  const Case cases[] = {{abi::kFloat, abi::kSum, 2, 1, much},      {abi::kByte, abi::kReplace, 1, 2, much},
                        {abi::kUint8T, abi::kMax, 2, 2, much},     {abi::kReal2, abi::kProd, 3, 1, much / 2},
                        {abi::kDouble, abi::kMin, 8, 1, much / 4}, {abi::kDoubleInt, abi::kMinloc, 2, 1, much / 4}};
  for (const Case& test : cases) {
    const BasicType& row = *basic_type(test.type);
    SCOPED_TRACE(row.name);
    const std::size_t count = test.bytes / static_cast<std::size_t>(predefined_type(test.type)->extent()) + 7;
    const bool launched =
        check(row, *predefined_op(test.op), test.ninputs, test.noutputs, count, Alignment::kTogether, false);
    if (HasFailure()) return;
    if (!launched) GTEST_SKIP() << "no kernels";
  }
}

TEST_F(ReduceByKernel, FortranTruthIsTheCompilersOwn) {
  fortran_booleans() = {-1, 0};
  for (const std::uintptr_t type : {abi::kLogical, abi::kLogical1, abi::kLogical16, abi::kInt}) {
    for (const std::uintptr_t op : {abi::kLand, abi::kLor, abi::kLxor}) {
      check(*basic_type(type), *predefined_op(op), 3, 1, 101, Alignment::kTogether, false);
    }
  }
  fortran_booleans() = {};
}

TEST_F(ReduceByKernel, NothingToDo) {
  check(*basic_type(abi::kInt), *predefined_op(abi::kSum), 2, 1, 0, Alignment::kTogether, false);
}

TEST_F(ReduceByKernel, OfViews) {
  const std::vector<int> left = {1, 2, 3};
  const std::vector<int> right = {10, 20, 30};
  DeviceMemory in(sizeof(int) * 3, MemoryKind::kDevice);
  DeviceMemory inout(sizeof(int) * 3, MemoryKind::kPool);
  in.write(std::as_bytes(std::span(left)));
  inout.write(std::as_bytes(std::span(right)));
  View in_view;
  View inout_view;
  ASSERT_OK(make_view(in.get(), 3, *predefined_type(abi::kInt), &in_view));
  ASSERT_OK(make_view(inout.get(), 3, *predefined_type(abi::kInt), &inout_view));
  bool done = false;
  const Op user(OpKind::kUser, true);
  ASSERT_OK(device::apply(user, in_view, inout_view, &done));
  EXPECT_FALSE(done);
  ASSERT_OK(device::apply(*predefined_op(abi::kSum), in_view, inout_view, &done));
  if (!done) GTEST_SKIP() << "no kernels";
  const std::vector<int> sums = {11, 22, 33};
  EXPECT_TRUE(std::ranges::equal(inout.read(), std::as_bytes(std::span(sums))));
}

// Every combination that check_op() allows has a kernel, except types without device arithmetic.
TEST(CanReduce, AllButWideReals) {
  for (const BasicType& row : basic_types()) {
    const Datatype& type = *predefined_type(row.abi);
    const bool wide = row.basic == Basic::kFloat80 || row.basic == Basic::kFloat128 || row.basic == Basic::kComplex80 ||
                      row.basic == Basic::kComplex128 || row.basic == Basic::kLongDoubleInt;
    for (const std::uintptr_t operation : kOperations) {
      const Op& op = *predefined_op(operation);
      if (op.kind() == OpKind::kReplace || op.kind() == OpKind::kNoOp) {
        EXPECT_EQ(device::can_reduce(op, type), row.basic != Basic::kLongDoubleInt) << row.name;
      } else if (check_op(op, type).ok()) {
        EXPECT_EQ(device::can_reduce(op, type), !wide) << row.name << ", operation " << operation;
      }
    }
  }
  (void)take_detail();
  Ref<Datatype> derived;
  ASSERT_OK(make_contiguous(2, *predefined(abi::kInt), CallForm::kPlain, &derived));
  EXPECT_FALSE(device::can_reduce(*predefined_op(abi::kSum), *derived));
  const Op user(OpKind::kUser, true);
  EXPECT_FALSE(device::can_reduce(user, *predefined(abi::kInt)));
}

}  // namespace
}  // namespace hr::layout::test
