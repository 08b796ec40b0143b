#include "layout/device/reduce.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hr::layout::device {
namespace {

using kernels::ReduceOp;

struct Kernel {
  const char* name;
  unsigned bytes;      // distance from one element to the next
  unsigned alignment;  // alignment of an element
};

constexpr Kernel kBits1{"hr_reduce_bits_1", 1, 1}, kBits2{"hr_reduce_bits_2", 2, 2}, kBits4{"hr_reduce_bits_4", 4, 4},
    kBits8{"hr_reduce_bits_8", 8, 8};
constexpr Kernel kI8{"hr_reduce_i8", 1, 1}, kI16{"hr_reduce_i16", 2, 2}, kI32{"hr_reduce_i32", 4, 4},
    kI64{"hr_reduce_i64", 8, 8}, kI128{"hr_reduce_i128", 16, 16};
constexpr Kernel kU8{"hr_reduce_u8", 1, 1}, kU16{"hr_reduce_u16", 2, 2}, kU32{"hr_reduce_u32", 4, 4},
    kU64{"hr_reduce_u64", 8, 8}, kU128{"hr_reduce_u128", 16, 16};
constexpr Kernel kLogical1{"hr_reduce_logical_1", 1, 1}, kLogical2{"hr_reduce_logical_2", 2, 2},
    kLogical4{"hr_reduce_logical_4", 4, 4}, kLogical8{"hr_reduce_logical_8", 8, 8},
    kLogical16{"hr_reduce_logical_16", 16, 16};
constexpr Kernel kF16{"hr_reduce_f16", 2, 2}, kBf16{"hr_reduce_bf16", 2, 2}, kF32{"hr_reduce_f32", 4, 4},
    kF64{"hr_reduce_f64", 8, 8};
constexpr Kernel kC16{"hr_reduce_complex_f16", 4, 2}, kC32{"hr_reduce_complex_f32", 8, 4},
    kC64{"hr_reduce_complex_f64", 16, 8};
constexpr Kernel kFloatInt{"hr_reduce_pair_f32_i32", 8, 4}, kDoubleInt{"hr_reduce_pair_f64_i32", 16, 8},
    kLongInt{"hr_reduce_pair_i64_i32", 16, 8}, k2Int{"hr_reduce_pair_i32_i32", 8, 4},
    kShortInt{"hr_reduce_pair_i16_i32", 8, 4}, k2Real{"hr_reduce_pair_f32_f32", 8, 4},
    k2Double{"hr_reduce_pair_f64_f64", 16, 8};

// Kernels for the operations on a representation; a kernel's element may be part of the type's element (the two
// halves of a complex number are summed separately).
struct Row {
  Basic type;
  const Kernel* bits = nullptr;     // bitwise operations and copies
  const Kernel* order = nullptr;    // min, max; minloc, maxloc of pairs
  const Kernel* sum = nullptr;      // sum
  const Kernel* product = nullptr;  // product
  const Kernel* logical = nullptr;  // land, lor, lxor
  bool bitwise = false;             // true if bitwise operations are defined
};

constexpr Row integer(Basic type, const Kernel& bits, const Kernel& order, const Kernel& number,
                      const Kernel& logical) {
  return {type, &bits, &order, &number, &number, &logical, true};
}
constexpr Row real(Basic type, const Kernel& bits, const Kernel& number) {
  return {type, &bits, &number, &number, &number, nullptr, false};
}
constexpr Row complex(Basic type, const Kernel& bits, const Kernel& part, const Kernel& product) {
  return {type, &bits, nullptr, &part, &product, nullptr, false};
}
constexpr Row logical(Basic type, const Kernel& bits, const Kernel& logical) {
  return {type, &bits, nullptr, nullptr, nullptr, &logical, false};
}
// A pair with padding is copied by its reduction kernel, which does not change the padding.
constexpr Row pair(Basic type, const Kernel& loc, const Kernel* bits) {
  return {type, bits == nullptr ? &loc : bits, &loc, nullptr, nullptr, nullptr, false};
}
constexpr Row copied(Basic type, const Kernel& bits) { return {type, &bits}; }

constexpr Row kRows[] = {
    copied(Basic::kByte, kBits1),
    integer(Basic::kInt8, kBits1, kI8, kU8, kLogical1),
    integer(Basic::kInt16, kBits2, kI16, kU16, kLogical2),
    integer(Basic::kInt32, kBits4, kI32, kU32, kLogical4),
    integer(Basic::kInt64, kBits8, kI64, kU64, kLogical8),
    integer(Basic::kInt128, kBits8, kI128, kU128, kLogical16),
    integer(Basic::kUint8, kBits1, kU8, kU8, kLogical1),
    integer(Basic::kUint16, kBits2, kU16, kU16, kLogical2),
    integer(Basic::kUint32, kBits4, kU32, kU32, kLogical4),
    integer(Basic::kUint64, kBits8, kU64, kU64, kLogical8),
    real(Basic::kFloat16, kBits2, kF16),
    real(Basic::kBfloat16, kBits2, kBf16),
    real(Basic::kFloat32, kBits4, kF32),
    real(Basic::kFloat64, kBits8, kF64),
    copied(Basic::kFloat80, kBits8),
    copied(Basic::kFloat128, kBits8),
    complex(Basic::kComplex16, kBits2, kF16, kC16),
    complex(Basic::kComplex32, kBits4, kF32, kC32),
    complex(Basic::kComplex64, kBits8, kF64, kC64),
    copied(Basic::kComplex80, kBits8),
    copied(Basic::kComplex128, kBits8),
    logical(Basic::kBool, kBits1, kLogical1),
    logical(Basic::kLogical8, kBits1, kLogical1),
    logical(Basic::kLogical16, kBits2, kLogical2),
    logical(Basic::kLogical32, kBits4, kLogical4),
    logical(Basic::kLogical64, kBits8, kLogical8),
    logical(Basic::kLogical128, kBits8, kLogical16),
    copied(Basic::kWchar, kBits4),
    pair(Basic::kFloatInt, kFloatInt, &kBits4),
    pair(Basic::kDoubleInt, kDoubleInt, nullptr),
    pair(Basic::kLongInt, kLongInt, nullptr),
    pair(Basic::k2Int, k2Int, &kBits4),
    pair(Basic::kShortInt, kShortInt, nullptr),
    pair(Basic::k2Real, k2Real, &kBits4),
    pair(Basic::k2Double, k2Double, &kBits8),
};

constexpr auto kRowOf = [] {
  std::array<const Row*, kBasicCount> index{};
  for (const Row& row : kRows) index[static_cast<std::size_t>(row.type)] = &row;
  return index;
}();

struct Choice {
  const Kernel* kernel = nullptr;
  ReduceOp op = kernels::kReduceFirst;
};

Choice choose(OpKind op, Basic type) noexcept {
  const Row* row = kRowOf[static_cast<std::size_t>(type)];
  if (row == nullptr) return {};
  const bool is_pair = type >= Basic::kFloatInt;
  const Kernel* bitwise = row->bitwise ? row->bits : nullptr;
  const Kernel* order = is_pair ? nullptr : row->order;
  const Kernel* loc = is_pair ? row->order : nullptr;
  switch (op) {
    case OpKind::kMin:
      return {order, kernels::kReduceMin};
    case OpKind::kMax:
      return {order, kernels::kReduceMax};
    case OpKind::kSum:
      return {row->sum, kernels::kReduceSum};
    case OpKind::kProd:
      return {row->product, kernels::kReduceProd};
    case OpKind::kLand:
      return {row->logical, kernels::kReduceLand};
    case OpKind::kLor:
      return {row->logical, kernels::kReduceLor};
    case OpKind::kLxor:
      return {row->logical, kernels::kReduceLxor};
    case OpKind::kBand:
      return {bitwise, kernels::kReduceBand};
    case OpKind::kBor:
      return {bitwise, kernels::kReduceBor};
    case OpKind::kBxor:
      return {bitwise, kernels::kReduceBxor};
    case OpKind::kMinloc:
      return {loc, kernels::kReduceMin};
    case OpKind::kMaxloc:
      return {loc, kernels::kReduceMax};
    case OpKind::kReplace:
    case OpKind::kNoOp:
      return {row->bits, kernels::kReduceFirst};
    case OpKind::kUser:
      break;
  }
  return {};
}

kernels::ReduceAccess access_of(const Kernel& kernel, const Reduction& reduction) noexcept {
  constexpr std::uint64_t kVector = 16;
  const std::uint64_t first = reduction.inputs[0];
  std::uint64_t all = 0;      // bits that are set in any address
  std::uint64_t differs = 0;  // bits that differ between addresses
  const auto look = [&](const mem::device::DeviceAddress* addresses, int n) {
    for (int i = 0; i < n; ++i) {
      all |= addresses[i];
      differs |= addresses[i] ^ first;
    }
  };
  look(reduction.inputs, reduction.ninputs);
  look(reduction.outputs, reduction.noutputs);
  if (all % kernel.alignment != 0) return kernels::kReduceByBytes;
  if (differs % kVector == 0 && first % kVector % kernel.bytes == 0) return kernels::kReduceByVectors;
  return kernels::kReduceByElements;
}

}  // namespace

bool can_reduce(const Op& op, const Datatype& type) noexcept {
  return choose(op.kind(), type.basic()).kernel != nullptr;
}

ReduceKernel reduce_kernel(const Op& op, const Datatype& type, const Reduction& reduction) noexcept {
  Reduction sides = reduction;
  // MPI_REPLACE keeps the leftmost operand, MPI_NO_OP the rightmost; a single operand is always kept.
  if (op.kind() == OpKind::kNoOp) sides.inputs[0] = sides.inputs[sides.ninputs - 1];
  if (op.kind() == OpKind::kReplace || op.kind() == OpKind::kNoOp) sides.ninputs = 1;
  const Choice choice = choose(sides.ninputs == 1 ? OpKind::kReplace : op.kind(), type.basic());
  ReduceKernel made;
  if (choice.kernel == nullptr) return made;
  const Kernel& kernel = *choice.kernel;
  made.name = kernel.name;
  kernels::ReduceArguments& args = made.arguments;
  std::copy_n(sides.inputs, kMaxReduceSides, args.inputs);
  std::copy_n(sides.outputs, kMaxReduceSides, args.outputs);
  args.ninputs = static_cast<std::uint32_t>(sides.ninputs);
  args.noutputs = static_cast<std::uint32_t>(sides.noutputs);
  const std::uint64_t parts = static_cast<std::uint64_t>(type.extent()) / kernel.bytes;
  args.first = static_cast<std::uint64_t>(sides.first) * parts;
  args.count = static_cast<std::uint64_t>(sides.count) * parts;
  args.op = choice.op;
  args.access = access_of(kernel, sides);
  const bool fortran = type.basic() >= Basic::kLogical8 && type.basic() <= Basic::kLogical128;
  args.true_value = fortran ? fortran_booleans().true_value : 1;
  args.false_value = fortran ? fortran_booleans().false_value : 0;

  // If vectors are used, the elements at both ends, which fill less than two vectors, get a thread each.
  constexpr std::uint64_t kVector = 16;
  made.units =
      args.access == kernels::kReduceByVectors
          ? args.count * kernel.bytes / kVector + std::min<std::uint64_t>(args.count, 2 * kVector / kernel.bytes)
          : args.count;
  return made;
}

Status launch_reduce(mem::device::Context& context, const Op& op, const Datatype& type, const Reduction& reduction,
                     bool* launched) {
  ReduceKernel kernel = reduce_kernel(op, type, reduction);
  return launch_reduce(context, context.stream(), kernel, launched);
}

Status launch_reduce(mem::device::Context& context, mem::device::StreamHandle stream, ReduceKernel& kernel,
                     bool* launched) {
  *launched = false;
  mem::device::FunctionHandle function = nullptr;
  if (kernel.name != nullptr) HR_TRY(context.kernel(kernel.name, &function));
  if (function == nullptr) return kOk;
  *launched = true;
  if (kernel.units == 0) return kOk;
  // Four thread blocks of these kernels fill a multiprocessor.
  const std::uint64_t wanted = (kernel.units + kernels::kReduceThreads - 1) / kernels::kReduceThreads;
  const auto blocks =
      static_cast<unsigned>(std::min<std::uint64_t>(wanted, static_cast<std::uint64_t>(context.multiprocessors()) * 4));
  void* parameters[] = {&kernel.arguments};
  HR_DEVICE(context.device(), launch,
            (function, blocks, 1, 1, kernels::kReduceThreads, 1, 1, 0, stream, parameters, nullptr),
            "kernel %s, %llu elements", kernel.name, static_cast<unsigned long long>(kernel.arguments.count));
  return kOk;
}

Status apply(const Op& op, const View& in, const View& inout, bool* done) {
  *done = false;
  if (!can_reduce(op, *inout.type)) return kOk;
  mem::device::Context* context = nullptr;
  mem::device::Context* other = nullptr;
  HR_TRY(mem::device::Context::of(inout.where, &context));
  HR_TRY(mem::device::Context::of(in.where, &other));
  if (context != other) return kOk;
  const mem::device::Current current(*context);
  HR_TRY(current.status());
  Reduction reduction;
  reduction.inputs[0] = reinterpret_cast<std::uintptr_t>(in.address);
  reduction.inputs[1] = reinterpret_cast<std::uintptr_t>(inout.address);
  reduction.ninputs = 2;
  reduction.outputs[0] = reduction.inputs[1];
  reduction.noutputs = 1;
  reduction.count = inout.count;
  HR_TRY(launch_reduce(*context, op, *inout.type, reduction, done));
  return *done ? context->synchronize("a reduction") : kOk;
}

}  // namespace hr::layout::device
