#include "transport/shm/segment.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

// First bytes of the file.
struct Head {
  alignas(kLine) std::atomic<std::uint32_t> attached;
};

}  // namespace

void Segment::lay_out(int processes, std::size_t payload_bytes) {
  processes_ = processes;
  payload_bytes_ = payload_bytes;
  const std::size_t control =
      sizeof(Head) + kLine + Doorbell::footprint(processes) * static_cast<std::size_t>(processes);
  control_bytes_ = (control + kPage - 1) / kPage * kPage;
  bytes_ = control_bytes_ +
           static_cast<std::size_t>(processes) * static_cast<std::size_t>(processes) * ring_footprint(payload_bytes);
}

Status Segment::create(const std::string& path, int processes, std::size_t payload_bytes) {
  lay_out(processes, payload_bytes);
  HR_TRY(file_.create(path, bytes_, control_bytes_));
  count_attached();
  return kOk;
}

Status Segment::attach(const std::string& path, int processes, std::size_t payload_bytes) {
  lay_out(processes, payload_bytes);
  HR_TRY(file_.attach(path, bytes_));
  count_attached();
  return kOk;
}

void Segment::count_attached() {
  auto* head = reinterpret_cast<Head*>(file_.data());
  if (head->attached.fetch_add(1) + 1 == static_cast<std::uint32_t>(processes_)) file_.unlink();
}

Status Segment::reserve(int receiver, int sender) {
  return file_.reserve(ring_offset(receiver, sender), ring_footprint(payload_bytes_));
}

Doorbell* Segment::doorbell(int process) const noexcept {
  return reinterpret_cast<Doorbell*>(file_.data() + 2 * kLine +
                                     Doorbell::footprint(processes_) * static_cast<std::size_t>(process));
}

RingMemory* Segment::ring(int receiver, int sender) const noexcept {
  return reinterpret_cast<RingMemory*>(file_.data() + ring_offset(receiver, sender));
}

std::size_t Segment::ring_offset(int receiver, int sender) const noexcept {
  const auto index =
      static_cast<std::size_t>(receiver) * static_cast<std::size_t>(processes_) + static_cast<std::size_t>(sender);
  return control_bytes_ + index * ring_footprint(payload_bytes_);
}

}  // namespace hr::transport::shm
