#include "transport/shm/segment.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/cache_hints.hpp"
#include "base/clock.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;
// Shared words per process; each is for one long receive that waits for the last part from its sender.
constexpr std::size_t kWords = 64;

// Time within which processes that were started together normally attach.
constexpr double kSettleSeconds = 1;
constexpr double kSettleSecondsWithoutName = 10;  // if they cannot attach once the creator has ended
constexpr unsigned kSettlePauseMicroseconds = 100;

// Head of the file.
struct Head {
  alignas(kCacheLine) std::atomic<std::uint32_t> attached;
  Segment::Sizes sizes;  // read if the processes have not agreed on the sizes
};
static_assert(sizeof(Head) <= 2 * kCacheLine);

std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + kPage - 1) / kPage * kPage; }

Segment::Sizes area_sizes(const Segment::Sizes& whole) noexcept {
  return {.processes = whole.processes,
          .payload_bytes = whole.channel_payload_bytes,
          .staging_bytes = 0,
          .exchange_buffers = whole.exchange_buffers};
}

}  // namespace

void Segment::lay_out(const Sizes& sizes) noexcept {
  sizes_ = sizes;
  const auto processes = static_cast<std::size_t>(sizes.processes);
  words_offset_ = 2 * kCacheLine + Doorbell::footprint(sizes.processes) * processes;
  control_bytes_ = whole_pages(words_offset_ + kWords * sizeof(SharedWord) * processes);
  area_bytes_ = whole_pages(sizes.staging_bytes);
  bytes_ = whole_pages(staging_offset(sizes.processes));
}

std::size_t Segment::bytes_of(const Sizes& sizes) noexcept {
  Segment whole, area;
  whole.lay_out(sizes);
  area.lay_out(area_sizes(sizes));
  return whole.bytes_ + static_cast<std::size_t>(sizes.channels) * area.bytes_;
}

Status Segment::enter_area(Segment& whole, int channel) {
  lay_out(area_sizes(whole.sizes_));
  memory_ = whole.memory_;
  base_ = whole.bytes_ + static_cast<std::size_t>(channel - 1) * bytes_;
  return memory_->reserve(base_, control_bytes_);
}

Status Segment::create(const std::string& path, const Sizes& sizes) {
  lay_out(sizes);
  HR_TRY(file_.create_hidden(path, bytes_of(sizes), control_bytes_, SharedFile::Room::kAnywhere));
  count_attached();
  return kOk;
}

Status Segment::attach(const std::string& path, const Sizes& sizes) {
  lay_out(sizes);
  HR_TRY(file_.attach(path, bytes_of(sizes)));
  count_attached();
  return kOk;
}

Status Segment::create_or_attach(const std::string& path, const Sizes& sizes) {
  lay_out(sizes);
  const auto begin = [&sizes](std::byte* memory) { reinterpret_cast<Head*>(memory)->sizes = sizes; };
  const std::size_t wanted = bytes_;
  HR_TRY(file_.create_or_attach(path, wanted, control_bytes_, begin));
  const Sizes found = reinterpret_cast<const Head*>(file_.data())->sizes;
  if (found.processes != sizes.processes) {
    return fail(Errc::kOther, "%s is a file for %d processes and not for %d", path.c_str(), found.processes,
                sizes.processes);
  }
  lay_out(found);
  if (file_.bytes() < bytes_)
    return fail(Errc::kOther, "%s has %zu bytes where %zu are wanted", path.c_str(), file_.bytes(), bytes_);
  count_attached();
  return kOk;
}

void Segment::count_attached() {
  reinterpret_cast<Head*>(file_.data())->attached.fetch_add(1);
  if (all_attached()) file_.unlink();
}

bool Segment::all_attached() const noexcept {
  return reinterpret_cast<const Head*>(file_.data())->attached.load() == static_cast<std::uint32_t>(sizes_.processes);
}

void Segment::settle() noexcept {
  if (!file_.hidden()) return;
  const double deadline = now_seconds() + (file_.in_no_directory() ? kSettleSecondsWithoutName : kSettleSeconds);
  while (!all_attached()) {
    if (now_seconds() < deadline) {
      ::usleep(kSettlePauseMicroseconds);
      continue;
    }
    if (!file_.give_name().ok()) return static_cast<void>(take_detail());
    if (all_attached()) file_.unlink();
    return;
  }
}

Status Segment::reserve_cells(int receiver, int sender, std::uint64_t cells) {
  return memory_->reserve(base_ + ring_offset(receiver, sender), cells_footprint(cells));
}

Status Segment::reserve_payload(int receiver, int sender, std::size_t bytes) {
  return memory_->reserve(base_ + ring_offset(receiver, sender) + sizeof(RingMemory), bytes);
}

Status Segment::reserve_exchange_buffer(int one, int other, int index) {
  return memory_->reserve(
      base_ + exchange_buffer_offset(one, other) + static_cast<std::size_t>(index) * kExchangeBufferBytes,
      kExchangeBufferBytes);
}

Status Segment::reserve_staging(int process) { return memory_->reserve(base_ + staging_offset(process), area_bytes_); }

Doorbell* Segment::doorbell(int process) const noexcept {
  return reinterpret_cast<Doorbell*>(data() + 2 * kCacheLine +
                                     Doorbell::footprint(sizes_.processes) * static_cast<std::size_t>(process));
}

std::span<SharedWord> Segment::words(int process) const noexcept {
  return {reinterpret_cast<SharedWord*>(data() + words_offset_) + kWords * static_cast<std::size_t>(process), kWords};
}

RingMemory* Segment::ring(int receiver, int sender) const noexcept {
  return reinterpret_cast<RingMemory*>(data() + ring_offset(receiver, sender));
}

std::size_t Segment::ring_offset(int receiver, int sender) const noexcept {
  const auto index = static_cast<std::size_t>(receiver) * static_cast<std::size_t>(sizes_.processes) +
                     static_cast<std::size_t>(sender);
  return control_bytes_ + index * ring_footprint(sizes_.payload_bytes);
}

std::span<std::byte> Segment::staging(int process) const noexcept {
  return {data() + staging_offset(process), sizes_.staging_bytes};
}

// The exchange buffers follow the rings, in the order of the pairs: processes 1 and 0, 2 and 0, 2 and 1, and so on.
std::size_t Segment::exchange_buffer_offset(int one, int other) const noexcept {
  const auto higher = static_cast<std::size_t>(std::max(one, other));
  const std::size_t index = higher * (higher - 1) / 2 + static_cast<std::size_t>(std::min(one, other));
  return ring_offset(sizes_.processes, 0) +
         index * static_cast<std::size_t>(sizes_.exchange_buffers) * kExchangeBufferBytes;
}

// The staging areas follow the exchange buffers.
std::size_t Segment::staging_offset(int process) const noexcept {
  return exchange_buffer_offset(sizes_.processes, 0) + static_cast<std::size_t>(process) * area_bytes_;
}

}  // namespace hr::transport::shm
