#include "io/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace hr::io {
namespace {

using Buffer = std::unique_ptr<std::byte[]>;

// Largest gap that takes less time to read than a second system call.
constexpr Count kSmallGap = Count{32} << 10;

Status make_buffer(std::size_t bytes, Buffer* buffer) {
  buffer->reset(new (std::nothrow) std::byte[bytes]);
  return *buffer != nullptr ? kOk
                            : fail(Errc::kNoMem,
                                   "no memory for a buffer of %zu bytes; hint ind_rd_buffer_size "
                                   "or ind_wr_buffer_size makes it smaller",
                                   bytes);
}

// Reads including gaps: collects segments until the next one is too far away or the buffer is full, then reads them at
// once and copies them to their destinations.
class Sieve {
 public:
  Sieve(const Place& place, std::byte* to)
      : disk_(*place.disk), to_(to), room_(static_cast<Count>(place.hints->sieve_buffer)) {
    if (place.hints->sieve_reads == Choice::kDisable) gap_ = -1;
    if (place.hints->sieve_reads == Choice::kEnable) gap_ = room_;
  }

  Status add(Count offset, Count length) {
    const bool joins = count_ != 0 && offset >= end_ && offset - end_ <= gap_ && offset + length - first_ <= room_;
    if (!joins && count_ != 0) HR_TRY(read());
    if (ended_) return kOk;
    if (count_ == 0) first_ = offset;
    if (segments_.size() <= count_) segments_.emplace_back();
    segments_[count_++] = {offset, length};
    end_ = offset + length;
    return kOk;
  }
  Status finish() { return count_ != 0 ? read() : kOk; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::size_t done() const noexcept { return done_; }

 private:
  struct Segment {
    Count offset, length;
  };

  Status read() {
    const std::size_t count = std::exchange(count_, 0);
    if (count == 1) return read_one(segments_[0]);
    const auto span = static_cast<std::size_t>(end_ - first_);
    if (buffer_ == nullptr) HR_TRY(make_buffer(static_cast<std::size_t>(room_), &buffer_));
    std::size_t got = 0;
    const Status status = disk_.read(first_, buffer_.get(), span, &got);
    for (std::size_t i = 0; i < count && !ended_; ++i) {
      const Count there = static_cast<Count>(got) - (segments_[i].offset - first_);
      const auto length = static_cast<std::size_t>(std::clamp<Count>(there, 0, segments_[i].length));
      std::memcpy(to_ + done_, buffer_.get() + (segments_[i].offset - first_), length);
      advance(length, segments_[i]);
    }
    return status;
  }
  Status read_one(const Segment& segment) {
    std::size_t got = 0;
    const Status status = disk_.read(segment.offset, to_ + done_, static_cast<std::size_t>(segment.length), &got);
    advance(got, segment);
    return status;
  }
  void advance(std::size_t length, const Segment& segment) noexcept {
    done_ += length;
    ended_ = length < static_cast<std::size_t>(segment.length);
  }

  const PosixFile& disk_;
  std::byte* to_;
  Count room_;
  Count gap_ = kSmallGap;
  Buffer buffer_;
  std::vector<Segment> segments_;
  std::size_t count_ = 0;
  Count first_ = 0, end_ = 0;
  std::size_t done_ = 0;
  bool ended_ = false;
};

Place further(const Place& place, std::size_t bytes) {
  Place moved = place;
  moved.position += static_cast<Count>(bytes);
  return moved;
}

}  // namespace

layout::View part_of(const layout::View& view, std::size_t offset, std::size_t bytes) {
  return bytes_view(bytes == 0 ? nullptr : view.data() + offset, bytes, view.where);
}

Status write_contiguous(const Place& place, const std::byte* from, std::size_t bytes, std::size_t* done) {
  *done = 0;
  SegmentWalker segments(*place.view, place.position, static_cast<Count>(bytes));
  Count offset = 0, length = 0;
  while (segments.next(&offset, &length)) {
    std::size_t moved = 0;
    const Status status = place.disk->write(offset, from + *done, static_cast<std::size_t>(length), &moved);
    *done += moved;
    HR_TRY(status);
  }
  return kOk;
}

Status read_contiguous(const Place& place, std::byte* to, std::size_t bytes, std::size_t* done) {
  Sieve sieve(place, to);
  SegmentWalker segments(*place.view, place.position, static_cast<Count>(bytes));
  Count offset = 0, length = 0;
  Status status;
  while (status.ok() && !sieve.ended() && segments.next(&offset, &length)) status = sieve.add(offset, length);
  if (status.ok() && !sieve.ended()) status = sieve.finish();
  *done = sieve.done();
  return status;
}

Status write_view(const Place& place, const layout::View& from, std::size_t* done) {
  *done = 0;
  if (from.allows_memcpy()) return write_contiguous(place, from.data(), from.packed, done);
  const std::size_t size = std::min(from.packed, place.hints->write_buffer);
  Buffer buffer;
  HR_TRY(make_buffer(size, &buffer));
  while (*done < from.packed) {
    const std::size_t bytes = std::min(size, from.packed - *done);
    HR_TRY(layout::pack(from, *done, bytes, buffer.get()));
    std::size_t moved = 0;
    const Status status = write_contiguous(further(place, *done), buffer.get(), bytes, &moved);
    *done += moved;
    HR_TRY(status);
  }
  return kOk;
}

Status read_view(const Place& place, const layout::View& to, std::size_t* done) {
  *done = 0;
  if (to.allows_memcpy()) return read_contiguous(place, to.data(), to.packed, done);
  const std::size_t size = std::min(to.packed, place.hints->sieve_buffer);
  Buffer buffer;
  HR_TRY(make_buffer(size, &buffer));
  while (*done < to.packed) {
    const std::size_t bytes = std::min(size, to.packed - *done);
    std::size_t moved = 0;
    const Status status = read_contiguous(further(place, *done), buffer.get(), bytes, &moved);
    HR_TRY(layout::unpack(to, *done, moved, buffer.get()));
    *done += moved;
    HR_TRY(status);
    if (moved < bytes) return kOk;
  }
  return kOk;
}

}  // namespace hr::io
