// matched_copy.hpp: steps of the kernels of matched requests (paired.cu, matched_allreduce.cu, matched_long.cu): a
// block copies bytes, and then changes words for which other devices' streams or kernels wait; or it moves lines, which
// need no words.
//
// Memory order of words: finish_copies() orders the accesses of all threads of the block before those of its last
// thread, which calls fence() and then adds to a word, so the addition is a release at system scope. In a kernel that
// waits, one thread acquires the word, and a barrier extends the acquire to the other threads.
//
// Lines: data and the number of its message share one atomic 8-byte access. A reader that finds the number has the
// data, too, so the writer needs no fence and no word. A slot is rewritten only after its reader has found the numbers
// of all its lines: the reader then returns the slot, or sends its own data, which depends on these lines. A reader
// cannot mistake a later line for the one that it waits for, as the number would differ.
#pragma once

#include <cstdint>

#include "portability.hpp"

#if !defined(__CUDACC__) && !defined(__HIP__)
#include <ctime>
#endif

namespace hr::matched_kernels {

struct alignas(16) Bytes16 {
  std::uint64_t low, high;
};

#if defined(__CUDACC__)
HR_DEVICE void finish_copies() { __syncthreads(); }
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { atomicAdd_system(word, number); }
// Increments the number of finished blocks of this launch; returns the previous number.
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) { return atomicAdd(word, 1U); }
HR_DEVICE void fence() { __threadfence_system(); }
// Changes a word from `number` - 1 to `number`. False if the word does not contain `number` - 1.
HR_DEVICE bool claim(std::uint32_t* word, std::uint32_t number) {
  return atomicCAS_system(word, number - 1, number) == number - 1;
}
HR_DEVICE std::uint32_t look_acquire(const std::uint32_t* word) {
  std::uint32_t found;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(found) : "l"(word) : "memory");
  return found;
}
HR_DEVICE std::uint64_t load_line(std::uint64_t at) {
  std::uint64_t line;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(line) : "l"(at) : "memory");
  return line;
}
HR_DEVICE void store_line(std::uint64_t at, std::uint64_t line) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(at), "l"(line) : "memory");
}
HR_DEVICE void doze() { __nanosleep(100); }
// True if `mine` is true in any thread; also a barrier.
HR_DEVICE bool in_any_thread(bool mine) { return __syncthreads_or(mine ? 1 : 0) != 0; }
HR_DEVICE bool is_waiting_thread() { return threadIdx.x == 0; }
#elif defined(__HIP__)
HR_DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
HR_DEVICE void finish_copies() {
  fence();
  __builtin_amdgcn_s_barrier();
}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) {
  __hip_atomic_fetch_add(word, number, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) {
  return __hip_atomic_fetch_add(word, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
HR_DEVICE bool claim(std::uint32_t* word, std::uint32_t number) {
  std::uint32_t before = number - 1;
  return __hip_atomic_compare_exchange_strong(word, &before, number, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED,
                                              __HIP_MEMORY_SCOPE_SYSTEM);
}
// HIP streams are refused: for HIP, the functions of waiting kernels only need to compile.
HR_DEVICE std::uint32_t look_acquire(const std::uint32_t* word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE std::uint64_t load_line(std::uint64_t at) {
  return __hip_atomic_load(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE void store_line(std::uint64_t at, std::uint64_t line) {
  __hip_atomic_store(reinterpret_cast<std::uint64_t*>(at), line, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE void doze() { __builtin_amdgcn_s_sleep(1); }
HR_DEVICE bool in_any_thread(bool mine) {
  finish_copies();
  return mine;
}
HR_DEVICE bool is_waiting_thread() { return true; }
#else
// On the CPU, the last thread runs last, so the copies of all threads are complete.
HR_DEVICE void finish_copies() {}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { __atomic_fetch_add(word, number, __ATOMIC_SEQ_CST); }
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) { return __atomic_fetch_add(word, 1U, __ATOMIC_SEQ_CST); }
HR_DEVICE void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HR_DEVICE bool claim(std::uint32_t* word, std::uint32_t number) {
  std::uint32_t before = number - 1;
  return __atomic_compare_exchange_n(word, &before, number, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
HR_DEVICE std::uint32_t look_acquire(const std::uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
HR_DEVICE std::uint64_t load_line(std::uint64_t at) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE);
}
HR_DEVICE void store_line(std::uint64_t at, std::uint64_t line) {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), line, __ATOMIC_RELEASE);
}
// On the CPU the threads run sequentially: each waits for itself, and all but the first find the condition true.
HR_DEVICE void doze() {
  const timespec moment{0, 20000};
  nanosleep(&moment, nullptr);
}
HR_DEVICE bool in_any_thread(bool mine) { return mine; }
HR_DEVICE bool is_waiting_thread() { return true; }
#endif

HR_DEVICE bool is_last_thread() { return threadIdx.x == blockDim.x - 1; }

HR_DEVICE std::uint32_t look(const std::uint32_t* word) { return *const_cast<const volatile std::uint32_t*>(word); }

// Pauses between two polls of a waiting thread; after a number of polls, it yields to other blocks.
HR_DEVICE void pause(std::uint32_t* looks) {
  constexpr std::uint32_t kBusyLooks = 2000;
#if defined(__CUDACC__) || defined(__HIP__)
  if (++*looks <= kBusyLooks) return;
  *looks = kBusyLooks;
#endif
  doze();
}

// Waits, in one thread, until the word is not 0. Returns false, in all threads, if it is at least `released`. All
// threads have then passed a barrier.
HR_DEVICE bool wait_until_ready(const std::uint32_t* word, std::uint32_t released) {
  bool over = false;
  if (is_waiting_thread()) {
    std::uint32_t looks = 0, found = 0;
    while ((found = look_acquire(word)) == 0) pause(&looks);
    over = found >= released;
  }
  return !in_any_thread(over);
}

// --- lines: 4 bytes of data below the number of their message ---

HR_DEVICE std::uint64_t line_of(std::uint32_t data, std::uint32_t number) { return std::uint64_t{number} << 32 | data; }
HR_DEVICE std::uint32_t number_of(std::uint64_t line) { return static_cast<std::uint32_t>(line >> 32); }
HR_DEVICE std::uint64_t lines_of(std::uint64_t bytes) { return (bytes + 3) / 4; }

// Returns 4 bytes of a message, fewer at its end.
HR_DEVICE std::uint32_t load_word(std::uint64_t from, std::uint64_t bytes, std::uint64_t word) {
  if (((from | bytes) & 3) == 0) return reinterpret_cast<const std::uint32_t*>(from)[word];
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4 && word * 4 + i < bytes; ++i) {
    value |= std::uint32_t{reinterpret_cast<const unsigned char*>(from)[word * 4 + i]} << 8 * i;
  }
  return value;
}
HR_DEVICE void store_word(std::uint64_t to, std::uint64_t bytes, std::uint64_t word, std::uint32_t value) {
  if (((to | bytes) & 3) == 0) {
    reinterpret_cast<std::uint32_t*>(to)[word] = value;
    return;
  }
  for (unsigned i = 0; i < 4 && word * 4 + i < bytes; ++i) {
    reinterpret_cast<unsigned char*>(to)[word * 4 + i] = static_cast<unsigned char>(value >> 8 * i);
  }
}

// Stores a part of a message with all threads of the block.
HR_DEVICE void store_lines(std::uint64_t from, std::uint64_t slot, std::uint64_t bytes, std::uint32_t number,
                           std::uint64_t part = 0, std::uint64_t parts = 1) {
  const std::uint64_t count = lines_of(bytes);
  HR_NO_UNROLL
  for (std::uint64_t n = part * blockDim.x + threadIdx.x; n < count; n += parts * blockDim.x) {
    store_line(slot + n * sizeof(std::uint64_t), line_of(load_word(from, bytes, n), number));
  }
}

// Loads `count` lines, at most kMost, at once until all of them have the number. Returns false if the word becomes at
// least `released` meanwhile. address(k): address of line k.
template <unsigned kMost, class Address>
HR_DEVICE bool load_lines(std::uint64_t (&lines)[kMost], unsigned count, const Address& address, std::uint32_t number,
                          const std::uint32_t* word, std::uint32_t released) {
  constexpr std::uint32_t kLooksAtOnce = 32;  // rounds between two polls of the word
  std::uint32_t looks = 0;
  HR_NO_UNROLL
  for (std::uint32_t round = 1;; ++round) {
    bool all = true;
    HR_UNROLL
    for (unsigned k = 0; k < kMost; ++k) {
      if (k < count) lines[k] = load_line(address(k));
    }
    HR_UNROLL
    for (unsigned k = 0; k < kMost; ++k) all = all && (k >= count || number_of(lines[k]) == number);
    if (all) return true;
    if (round % kLooksAtOnce == 0 && look_acquire(word) >= released) return false;
    pause(&looks);
  }
}

// Waits for a message, and moves it with all threads of the block. Returns false, in all threads, if the word becomes
// at least `released` meanwhile. All threads have then passed a barrier, and have read the slot.
HR_DEVICE bool take_lines(std::uint64_t slot, std::uint64_t to, std::uint64_t bytes, std::uint32_t number,
                          const std::uint32_t* word, std::uint32_t released) {
  constexpr unsigned kInFlight = 4;
  const std::uint64_t count = lines_of(bytes);
  bool over = false;
  HR_NO_UNROLL
  for (std::uint64_t n = threadIdx.x; n < count && !over; n += kInFlight * blockDim.x) {
    std::uint64_t lines[kInFlight];
    const std::uint64_t left = (count - n + blockDim.x - 1) / blockDim.x;
    const unsigned here = left < kInFlight ? static_cast<unsigned>(left) : kInFlight;
    over = !load_lines(
        lines, here, [&](unsigned k) { return slot + (n + k * blockDim.x) * sizeof(std::uint64_t); }, number, word,
        released);
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (k < here && !over) store_word(to, bytes, n + k * blockDim.x, static_cast<std::uint32_t>(lines[k]));
    }
  }
  return !in_any_thread(over);
}

// Loads several elements before it stores any, so that a block waits for memory once.
template <class Element>
HR_DEVICE void copy_elements(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, std::uint64_t first,
                             std::uint64_t step) {
  constexpr unsigned kInFlight = 4;
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  const std::uint64_t count = bytes / sizeof(Element);
  for (std::uint64_t n = first; n < count; n += kInFlight * step) {
    Element loaded[kInFlight];
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < count) loaded[k] = source[n + k * step];
    }
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < count) target[n + k * step] = loaded[k];
    }
  }
}

// Copies a part of the bytes with all threads of the block, in the largest elements that the addresses allow.
HR_DEVICE void copy_part(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, std::uint64_t part,
                         std::uint64_t parts) {
  const std::uint64_t first = part * blockDim.x + threadIdx.x, step = parts * blockDim.x;
  const std::uint64_t aligned = from | to | bytes;
  if ((aligned & 15) == 0) {
    copy_elements<Bytes16>(from, to, bytes, first, step);
  } else if ((aligned & 7) == 0) {
    copy_elements<std::uint64_t>(from, to, bytes, first, step);
  } else if ((aligned & 3) == 0) {
    copy_elements<std::uint32_t>(from, to, bytes, first, step);
  } else {
    copy_elements<unsigned char>(from, to, bytes, first, step);
  }
}

HR_DEVICE void copy_bytes(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  copy_part(from, to, bytes, 0, 1);
}

}  // namespace hr::matched_kernels
