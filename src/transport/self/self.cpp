#include "transport/self/self.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

namespace hr::transport::self {
namespace {

constexpr std::size_t kMostAtOnce = 64;  // maximum number of messages delivered in a round of progress

class Self final : public Transport {
 public:
  Self(int rank, const Handlers& handlers) : rank_(rank), handlers_(handlers) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "self"; }
  [[nodiscard]] bool reaches(int proc) const noexcept override { return proc == rank_; }

  [[nodiscard]] Caps caps(int /*proc*/) const noexcept override {
    return {.inline_bytes = 4096,
            .max_payload = std::size_t{1} << 30,
            .chunk_bytes = std::size_t{1} << 20,
            .remote_read = true,
            .same_address_space = true,
            .latency_seconds = 50e-9,
            .bytes_per_second = 10e9,
            .host_memory = {0, 10e9}};
  }

  Status connect(int /*proc*/) override { return kOk; }

  Status send(int proc, const Header& header, const void* payload, std::size_t bytes) override {
    std::byte* slot = reserve(proc, bytes);
    if (bytes != 0) std::memcpy(slot, payload, bytes);
    commit(proc, header);
    return kOk;
  }

  std::byte* reserve(int /*proc*/, std::size_t bytes) override {
    reserved_ = Queued{{}, std::make_unique_for_overwrite<std::byte[]>(bytes + 1), bytes};
    return reserved_.payload.get();
  }

  void commit(int /*proc*/, const Header& header) override {
    reserved_.header = header;
    queue_.push_back(std::move(reserved_));
  }

  // Handlers may send; the messages that they add wait for the next round.
  bool progress() override {
    if (queue_.empty()) [[likely]]
      return false;
    for (std::size_t left = std::min(queue_.size(), kMostAtOnce); left != 0 && !queue_.empty(); --left) {
      const Queued message = std::move(queue_.front());
      queue_.pop_front();
      handlers_.of_kind[kind_of(message.header)](rank_, message.header, message.payload.get(), message.bytes);
    }
    return true;
  }

  Status get(int /*proc*/, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    if (key != nullptr) return Errc::kUnsupportedOperation;
    for (const RemotePart& part : parts)
      std::memcpy(part.local, reinterpret_cast<const void*>(part.address), part.bytes);
    if (done != nullptr) done->complete = true;
    return kOk;
  }

  Status finalize() override { return kOk; }

 private:
  struct Queued {
    Header header{};
    std::unique_ptr<std::byte[]> payload;
    std::size_t bytes = 0;
  };

  int rank_;
  const Handlers& handlers_;
  Queued reserved_;
  std::deque<Queued> queue_;
};

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  *out = std::make_unique<Self>(job.rank, handlers);
  return kOk;
}

}  // namespace

const Record kRecord{"self", create};

}  // namespace hr::transport::self
