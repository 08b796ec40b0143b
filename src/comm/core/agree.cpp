#include "comm/agree.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/fnv.hpp"
#include "boot/boot.hpp"

namespace hr::comm {

namespace {

// Creates a view of the library's own memory.
using layout::bytes_view;

int number_of(int proc) noexcept { return boot::processes().number_of(proc); }

Status post_receive(const Members& members, int from, void* data, std::size_t bytes, p2p::Request** request) {
  return p2p::ireceive(bytes_view(data, bytes), {members.context, number_of(members.procs[from]), members.tag},
                       request);
}

Status post_send(const Members& members, int to, const void* data, std::size_t bytes, p2p::Request** request) {
  return p2p::isend(bytes_view(data, bytes), members.procs[to],
                    {members.context, number_of(members.procs[members.me]), members.tag}, p2p::Mode::kStandard,
                    request);
}

}  // namespace

// Dissemination: after round k each member has combined the words of 2^(k+1) members. If their number is not a power of
// two, some words are combined twice, which does not change an AND.
p2p::Task and_reduce(Members members, std::uint64_t* words, int count) {
  const auto length = static_cast<std::size_t>(count);
  std::vector<std::uint64_t> arrived(length);
  for (int distance = 1; distance < members.size; distance *= 2) {
    const int to = (members.me + distance) % members.size;
    const int from = (members.me - distance + members.size) % members.size;
    p2p::Requests<2> requests;
    HR_CO_TRY(post_receive(members, from, arrived.data(), length * sizeof(std::uint64_t), requests.next()));
    HR_CO_TRY(post_send(members, to, words, length * sizeof(std::uint64_t), requests.next()));
    HR_CO_TRY(co_await requests.all());
    for (std::size_t i = 0; i < length; ++i) words[i] &= arrived[i];
  }
  co_return kOk;
}

// Binomial tree.
p2p::Task broadcast(Members members, int root, void* data, std::size_t bytes) {
  const int relative = (members.me - root + members.size) % members.size;
  int bit = 1;
  while (bit < members.size && (relative & bit) == 0) bit *= 2;
  if (relative != 0) {
    const int parent = (members.me - bit + members.size) % members.size;
    p2p::Requests<1> request;
    HR_CO_TRY(post_receive(members, parent, data, bytes, request.next()));
    HR_CO_TRY(co_await request.all());
  }
  p2p::Requests<32> sends;
  for (int below = bit / 2; below > 0; below /= 2) {
    if (relative + below >= members.size) continue;
    HR_CO_TRY(post_send(members, (members.me + below) % members.size, data, bytes, sends.next()));
  }
  HR_CO_TRY(co_await sends.all());
  co_return kOk;
}

namespace {

// Bruck's algorithm on a buffer that holds the blocks of members me, me + 1, ...; offsets[i] is the start of the i-th
// block, offsets[size] the end. The caller fills in the first block.
p2p::Task gather_rotated(Members members, std::byte* blocks, const std::size_t* offsets) {
  for (int distance = 1; distance < members.size; distance *= 2) {
    const int count = std::min(distance, members.size - distance);
    const int to = (members.me - distance + members.size) % members.size;
    const int from = (members.me + distance) % members.size;
    p2p::Requests<2> requests;
    HR_CO_TRY(post_receive(members, from, blocks + offsets[distance], offsets[distance + count] - offsets[distance],
                           requests.next()));
    HR_CO_TRY(post_send(members, to, blocks, offsets[count], requests.next()));
    HR_CO_TRY(co_await requests.all());
  }
  co_return kOk;
}

}  // namespace

p2p::Task allgather(Members members, const void* own, std::size_t bytes, std::byte* gathered) {
  const auto size = static_cast<std::size_t>(members.size);
  const auto me = static_cast<std::size_t>(members.me);
  std::vector<std::size_t> offsets(size + 1);
  for (std::size_t i = 0; i <= size; ++i) offsets[i] = i * bytes;
  std::vector<std::byte> rotated(size * bytes);
  std::memcpy(rotated.data(), own, bytes);
  p2p::Task gather = gather_rotated(members, rotated.data(), offsets.data());
  HR_CO_TRY(co_await gather);
  for (std::size_t i = 0; i < size; ++i) {
    std::memcpy(gathered + (me + i) % size * bytes, rotated.data() + offsets[i], bytes);
  }
  co_return kOk;
}

p2p::Task allgather_blobs(Members members, const std::vector<std::byte>* own,
                          std::vector<std::vector<std::byte>>* gathered) {
  const auto size = static_cast<std::size_t>(members.size);
  const auto me = static_cast<std::size_t>(members.me);
  std::vector<std::uint64_t> lengths(size);
  const std::uint64_t own_length = own->size();
  p2p::Task lengths_gather =
      allgather(members, &own_length, sizeof own_length, reinterpret_cast<std::byte*>(lengths.data()));
  HR_CO_TRY(co_await lengths_gather);
  std::vector<std::size_t> offsets(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) offsets[i + 1] = offsets[i] + lengths[(me + i) % size];
  std::vector<std::byte> rotated(offsets[size]);
  std::copy(own->begin(), own->end(), rotated.begin());
  p2p::Task gather = gather_rotated(members, rotated.data(), offsets.data());
  HR_CO_TRY(co_await gather);
  gathered->resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::byte* const block = rotated.data() + offsets[i];
    (*gathered)[(me + i) % size].assign(block, block + lengths[(me + i) % size]);
  }
  co_return kOk;
}

p2p::Task exchange(int own_proc, int other_proc, std::uint32_t context, int tag, const void* own, void* other,
                   std::size_t bytes) {
  const int procs[2] = {own_proc, other_proc};
  const Members members{ProcList(procs, 2), 2, 0, context, tag};
  p2p::Requests<2> requests;
  HR_CO_TRY(post_receive(members, 1, other, bytes, requests.next()));
  HR_CO_TRY(post_send(members, 1, own, bytes, requests.next()));
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

p2p::Task exchange_blobs(int own_proc, int other_proc, std::uint32_t context, int tag,
                         const std::vector<std::byte>* own, std::vector<std::byte>* other) {
  const std::uint64_t own_length = own->size();
  std::uint64_t other_length = 0;
  p2p::Task lengths = exchange(own_proc, other_proc, context, tag, &own_length, &other_length, sizeof own_length);
  HR_CO_TRY(co_await lengths);
  other->resize(other_length);
  const int procs[2] = {own_proc, other_proc};
  const Members members{ProcList(procs, 2), 2, 0, context, tag};
  p2p::Requests<2> requests;
  HR_CO_TRY(post_receive(members, 1, other->data(), other->size(), requests.next()));
  HR_CO_TRY(post_send(members, 1, own->data(), own->size(), requests.next()));
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

int hash_tag(const ProcList& procs) noexcept {
  int hash = 0;
  for (const int proc : procs) {
    const int number = number_of(proc);
    hash = hash_tag(&number, sizeof number, static_cast<std::uint64_t>(hash));
  }
  return hash;
}

int hash_tag(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return fold(fnv1a(std::span(static_cast<const unsigned char*>(data), bytes), kFnvStart ^ seed));
}

}  // namespace hr::comm
