// Feeds the transport over libfabric with any messages, over the loopback, from a process of another job that knows the
// secret or does not: what Ofi::arrive() reads (transport/ofi/receive.cpp). Each handler call must name that process,
// and a payload no longer than the input. The data of rendezvous is declined, or read from wherever the message says.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "driver.hpp"
#include "messages.hpp"
#include "transport/network/address.hpp"
#include "transport/network/buffers.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/ofi/peer.hpp"

namespace {

using namespace hr::transport;
using hr::fuzz::check;
using network::Head;

constexpr int kStranger = 1;                             // its number in the tested process
constexpr std::uint32_t kName = std::uint32_t{1} << 31;  // of processes of other jobs; completed by number_of()
constexpr std::size_t kMostBytes = 4096;
constexpr double kMostSeconds = 20;  // for one message

struct Fetch {
  std::array<std::byte, kMostBytes> memory{};
  Sink sink;
  Operation done;
};

std::size_t longest = 0;
std::uint32_t delivered = 0;
std::vector<RendezvousData> offered;
std::deque<Fetch> fetches;  // the transport keeps references until it has ended them

void take(int from, const Header& /*header*/, const std::byte* payload, std::size_t bytes) {
  check(from == kStranger && bytes <= longest, "a message that was not sent");
  ++delivered;
  volatile std::byte sum{};
  for (std::size_t i = 0; i < bytes; ++i) sum = sum ^ payload[i];
  if (bytes < sizeof(RendezvousData)) return;
  RendezvousData data;
  std::memcpy(&data, payload + bytes - sizeof data, sizeof data);
  offered.push_back(data);
}

void lost(int proc, hr::Status /*why*/) {
  check(proc == kStranger, "a path that there is not");
  static_cast<void>(hr::take_detail());
}

// The tested transport, and an endpoint of libfabric that sends to it and receives what it answers.
class Bed {
 public:
  Bed() {
    const ofi::Settings settings;  // libfabric connects only endpoints with equal limits
    check(ofi::open_library(&library_).ok(), "no libfabric");
    stranger_ = std::make_unique<ofi::Fabric>(*library_);
    handlers_.of_kind.fill(take);
    handlers_.failed = lost;
    processes_.add("other", 0, hr::boot::kUnknownHost);
    name_ = kName | static_cast<std::uint32_t>(processes_.number_of(kStranger));
    const Job job{.rank = 0, .size = 1, .processes = processes_, .job_id = "fuzz", .late = true};
    check(ofi::kRecord.create(job, handlers_, &tested_).ok() && tested_->open().ok(),
          "no transport: " + hr::take_detail());
    check(stranger_->open(network::Listens::kOnLoopback, 0, kMostBytes).ok(), "no endpoint: " + hr::take_detail());
    std::string text;
    std::vector<std::byte> place;
    check(tested_->describe(&text).ok() && network::decode(std::string_view(text).substr(4), &place), "no address");
    ofi::Address published;
    check(ofi::decode_address(std::move(place), &published), "its address is too short");
    secret_ = published.secret;
    check(stranger_->add_address(published.place, &address_).ok(), "its address is not accepted");
    receive();
    introduce();
  }

  // Sends a message, and waits until the transport has received it.
  void send(std::span<const std::byte> message) {
    bool sent = false;
    context_ = &sent;
    ssize_t begun = -FI_EAGAIN;
    for (const double end = hr::now_seconds() + kMostSeconds; !sent && hr::now_seconds() < end;) {
      if (begun != 0)
        begun = ::fi_send(stranger_->endpoint(), message.data(), message.size(), nullptr, address_, &room_);
      if (begun != 0 && begun != -FI_EAGAIN) return;
      progress();
    }
    check(sent, "the transport no longer receives");
    for (int round = 0; round < 3; ++round) progress();
  }

  void progress() {
    tested_->progress();
    std::array<fi_cq_data_entry, 16> entries;
    const ssize_t count = ::fi_cq_read(stranger_->queue(), entries.data(), entries.size());
    for (ssize_t i = 0; i < count; ++i) {
      const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
      if (entry.op_context == &room_ && context_ != nullptr) *context_ = true;
      if ((entry.flags & FI_MULTI_RECV) != 0) receive();
    }
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      static_cast<void>(::fi_cq_readerr(stranger_->queue(), &error, 0));
      if (error.op_context == &room_ && context_ != nullptr) *context_ = true;
    }
  }

  // Makes the stranger known again if the path to it has failed.
  void renew() {
    context_ = nullptr;
    if (!tested_->has_lost(kStranger)) return;
    const int procs[] = {kStranger};
    tested_->disconnect(procs);
    introduce();
  }

  [[nodiscard]] Transport& tested() noexcept { return *tested_; }
  [[nodiscard]] network::Secret secret() const noexcept { return secret_; }
  [[nodiscard]] std::uint32_t name() const noexcept { return name_; }

 private:
  void introduce() {
    delivered = 0;
    ofi::Address address{.terms = stranger_->provider(), .secret = 1};
    check(stranger_->address(&address.place).ok(), "the stranger has no address");
    check(tested_->set_peer_address(kStranger, "ofi:" + network::encode(ofi::encode_address(address))).ok(),
          hr::take_detail());
  }

  void receive() {
    const iovec room{landing_.data(), landing_.size()};
    fi_msg message{};
    message.msg_iov = &room;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &landing_room_;
    static_cast<void>(::fi_recvmsg(stranger_->endpoint(), &message, FI_MULTI_RECV));
  }

  hr::boot::Processes processes_{"fuzz", 0, {0}};
  Handlers handlers_;
  const ofi::Library* library_ = nullptr;
  std::unique_ptr<Transport> tested_;
  std::unique_ptr<ofi::Fabric> stranger_;
  std::vector<std::byte> landing_ = std::vector<std::byte>(std::size_t{1} << 20);
  fi_context2 room_{};
  fi_context2 landing_room_{};
  bool* context_ = nullptr;
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  network::Secret secret_ = 0;
  std::uint32_t name_ = 0;
};

// Makes the head plausible, as far as the flags say. True if the message has the secret.
bool correct(std::vector<std::byte>* message, unsigned flags, const Bed& bed) {
  if (message->size() >= sizeof(ofi::Front) && (flags & 8) != 0) {
    std::uint64_t front = 0;
    std::memcpy(&front, message->data(), sizeof front);
    front = front % 9;
    std::memcpy(message->data(), &front, sizeof front);
  }
  if (message->size() < sizeof(ofi::Front) + sizeof(Head)) return false;
  Head head;
  std::memcpy(&head, message->data() + sizeof(ofi::Front), sizeof head);
  if ((flags & 1) != 0) head.secret = bed.secret();
  if ((flags & 2) != 0) head.from = bed.name();
  if ((flags & 4) != 0) head.sequence = delivered;
  std::memcpy(message->data() + sizeof(ofi::Front), &head, sizeof head);
  return head.secret == bed.secret();
}

}  // namespace

// The input is a sequence of messages: two bytes of length, one of flags (1: the right secret, 2: the known sender,
// 4: the next number, 8: a known kind, 16: read the data that is offered), then the message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Bed& bed = *new Bed;
  longest = size + sizeof(RendezvousData);
  fuzz::for_each_message(data, size, [&](std::vector<std::byte>& message, unsigned flags) {
    const bool knows_secret = correct(&message, flags, bed);
    const std::uint32_t before = delivered;
    bed.send(message);
    check(knows_secret || delivered == before, "a message without the secret was delivered");
    for (const RendezvousData each : std::exchange(offered, {})) {
      if (!bed.tested().has_rendezvous(kStranger, each)) continue;
      if ((flags & 16) == 0) {
        bed.tested().decline_rendezvous(kStranger, each);
        continue;
      }
      Fetch& fetch = fetches.emplace_back();
      fetch.sink = {.address = fetch.memory.data(), .bytes = fetch.memory.size()};
      if (!bed.tested().receive_rendezvous(kStranger, each, &fetch.sink, &fetch.done).ok()) {
        static_cast<void>(hr::take_detail());
        fetches.pop_back();
      }
    }
    bed.progress();
  });
  bed.renew();
  return 0;
}
