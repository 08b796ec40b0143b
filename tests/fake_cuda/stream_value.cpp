// Stream memory operations: a stream writes a word, or waits until a word has a value, in device or registered memory.
#include <chrono>
#include <thread>

#include "state.hpp"
#include "stream_state.hpp"

using namespace fake_cuda;

namespace {

enum Condition : unsigned { kGreaterOrEqual = 0, kEqual = 1, kAnd = 2, kNor = 3 };
constexpr unsigned kConditions = 3, kFlush = 1u << 30;

bool holds(Condition condition, std::uint32_t found, std::uint32_t wanted) {
  switch (condition) {
    case kGreaterOrEqual:  // cyclic
      return static_cast<std::int32_t>(found - wanted) >= 0;
    case kEqual:
      return found == wanted;
    case kAnd:
      return (found & wanted) != 0;
    case kNor:
      return ~(found | wanted) != 0;
  }
  return false;
}

struct Word {
  Result result = kSuccess;
  Stream* stream = nullptr;
  std::uint32_t* at = nullptr;
};
Word find_word(void* stream, Address address, const char* call = __builtin_FUNCTION()) {
  Word word;
  Context* context = nullptr;
  word.result = require_context(&context, call);
  if (word.result != kSuccess) return word;
  word.result = use_stream(context, stream, &word.stream, call);
  if (word.result != kSuccess) return word;
  std::lock_guard lock(state().mutex);
  if (address % 4 != 0 || find_allocation(address) == nullptr) {
    word.result = kInvalidValue;
    return word;
  }
  word.result = check_access(context, address, 4, false);
  word.at = static_cast<std::uint32_t*>(alias(address));
  return word;
}

}  // namespace

namespace {

Result write_value(void* stream, Address address, std::uint32_t value, const char* call) {
  const Word word = find_word(stream, address, call);
  if (word.result != kSuccess) return word.result;
  enqueue(word.stream, [at = word.at, value] {
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
    return kSuccess;
  });
  return kSuccess;
}

Result wait_value(void* stream, Address address, std::uint32_t value, unsigned flags, const char* call) {
  if ((flags & ~(kConditions | kFlush)) != 0) return kInvalidValue;
  const Word word = find_word(stream, address, call);
  if (word.result != kSuccess) return word.result;
  enqueue(word.stream, [at = word.at, value, condition = static_cast<Condition>(flags & kConditions)] {
    while (!holds(condition, __atomic_load_n(at, __ATOMIC_ACQUIRE), value)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return kSuccess;
  });
  return kSuccess;
}

// CUstreamBatchMemOpParams of a wait (1) or a write (2) of 32 bits.
struct BatchOperation {
  int kind;
  Address address;
  std::uint64_t value;
  unsigned flags;
  Address alias;
  std::uint64_t unused;
};
static_assert(sizeof(BatchOperation) == 48);

}  // namespace

FAKE_API Result cuStreamWriteValue32_v2(void* stream, Address address, std::uint32_t value, unsigned) {
  return write_value(stream, address, value, "cuStreamWriteValue32_v2");
}

FAKE_API Result cuStreamWaitValue32_v2(void* stream, Address address, std::uint32_t value, unsigned flags) {
  return wait_value(stream, address, value, flags, "cuStreamWaitValue32_v2");
}

FAKE_API Result cuStreamBatchMemOp_v2(void* stream, unsigned count, BatchOperation* operations, unsigned flags) {
  constexpr unsigned kMostOperations = 256;
  constexpr const char* kBatched = "batched";  // the batch is one call
  constexpr const char* kCall = "cuStreamBatchMemOp_v2";
  if (const Result result = require_init(kCall); result != kSuccess) return result;
  if (count > kMostOperations || flags != 0) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    const BatchOperation& each = operations[i];
    const auto value = static_cast<std::uint32_t>(each.value);
    Result result = kInvalidValue;
    if (each.kind == 1) result = wait_value(stream, each.address, value, each.flags, kBatched);
    if (each.kind == 2) result = write_value(stream, each.address, value, kBatched);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

FAKE_API Result cuStreamGetCtx(void* handle, Context** context) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return require_context(context);
  const std::lock_guard lock(work_mutex());
  auto* const stream = static_cast<Stream*>(handle);
  expect_not_destroyed(stream);
  if (streams().count(stream) == 0 || !stream->alive) return kInvalidHandle;
  *context = stream->context;
  return kSuccess;
}
