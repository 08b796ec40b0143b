#include "p2p/buffered.hpp"

#include <algorithm>

#include "layout/op.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

// Space that a message takes in addition to its data, so that each has a distinct address. MPI_BSEND_OVERHEAD allows up
// to 512; programs built for MPICH's ABI expect 88 to 96 (api/mpich.yaml).
constexpr std::size_t kOverhead = 64;
static_assert(kOverhead <= static_cast<std::size_t>(abi::kBsendOverhead));

struct State final : FileState {
  BufferPool process_buffer;
};

}  // namespace

BufferPool& process_buffer() { return own<State>().process_buffer; }

Status BufferPool::attach(void* address, Count size, bool automatic) {
  if (attached_) return fail(Errc::kBuffer, "a buffer for buffered sends is already attached; detach it first");
  attached_ = true;
  automatic_ = automatic;
  address_ = static_cast<std::byte*>(address);
  size_ = static_cast<std::size_t>(size);
  return kOk;
}

Status BufferPool::detach(void** address, Count* size) {
  if (!attached_) return fail(Errc::kBuffer, "no buffer for buffered sends is attached");
  HR_TRY(flush());
  attached_ = false;
  *address = automatic_ ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(abi::kBufferAutomatic)) : address_;
  *size = automatic_ ? 0 : static_cast<Count>(size_);
  return kOk;
}

Status BufferPool::flush() {
  return wait_until([this] {
    reap();
    // A message whose receiver has left MPI is dropped, like a short one that nobody receives.
    if (!pending_.empty() && should_look_for_left()) {
      for (const Pending& each : pending_) end_if_others_left(*each.request);
      reap();
    }
    return pending_.empty();
  });
}

bool BufferPool::gone(std::uint64_t mark) const noexcept {
  return std::none_of(pending_.begin(), pending_.end(),
                      [mark](const Pending& each) { return each.number < mark && !each.request->complete(); });
}

void BufferPool::reap() {
  std::erase_if(pending_, [this](const Pending& each) {
    if (!each.request->complete()) return false;
    release(each.request);
    if (each.own_memory != nullptr) {
      delete[] each.own_memory;
    } else {
      used_.erase(each.at);
    }
    return true;
  });
}

bool BufferPool::find_room(std::size_t bytes, std::size_t* at) {
  std::size_t start = 0;
  for (const auto& [offset, length] : used_) {
    if (offset - start >= bytes) break;
    start = offset + length;
  }
  *at = start;
  return start + bytes <= size_;
}

Status BufferPool::room_for(std::size_t wanted, std::size_t* at) {
  for (bool tried = false;; tried = true) {
    if (!attached_) {
      return fail(Errc::kBuffer, "a buffered send of %zu bytes needs a buffer: attach one with MPI_Buffer_attach",
                  wanted - kOverhead);
    }
    reap();
    if (automatic_ || find_room(wanted, at)) return kOk;
    if (tried) {
      return fail(Errc::kBuffer,
                  "the attached buffer of %zu bytes has no room for a message of %zu bytes and its overhead of %zu "
                  "(%zu messages are in it)",
                  size_, wanted - kOverhead, kOverhead, pending_.size());
    }
    // Progress may free the space of pending messages, and may let other threads change the buffer.
    poll();
  }
}

Status BufferPool::check_room(std::size_t bytes) {
  std::size_t at = 0;
  return room_for(bytes + kOverhead, &at);
}

Status BufferPool::send(const layout::View& data, int to_proc, const Envelope& envelope) {
  const std::size_t wanted = data.packed + kOverhead;
  Pending entry{nullptr, 0, nullptr, 0};
  HR_TRY(room_for(wanted, &entry.at));
  std::byte* copy = automatic_ ? entry.own_memory = new std::byte[data.packed + 1] : address_ + entry.at;
  Status status = data.packed == 0 ? kOk : layout::pack(data, 0, data.packed, copy);
  layout::View packed;
  if (status.ok()) {
    status = layout::make_view(copy, static_cast<Count>(data.packed), *layout::predefined_type(abi::kByte), &packed);
  }
  if (status.ok()) status = isend(packed, to_proc, envelope, Mode::kStandard, &entry.request);
  if (!status.ok()) {
    delete[] entry.own_memory;
    return status;
  }
  if (entry.own_memory == nullptr) used_[entry.at] = wanted;
  entry.number = next_++;
  pending_.push_back(entry);
  return kOk;
}

}  // namespace hr::p2p
