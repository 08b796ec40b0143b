// Feeds the inbox with everything that a network library could deliver: messages of any length and content, from
// senders that know the secret or do not, in any order (transport/network/inbox.hpp). Each handler call must have a
// sender from the job and the payload of a message that was fed.
#include "transport/network/inbox.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "driver.hpp"
#include "messages.hpp"
#include "transport/network/buffers.hpp"

namespace {

using namespace hr::transport;

constexpr int kSize = 4;
constexpr int kRank = 1;
std::size_t longest = 0;

void take(int from, const Header& /*header*/, const std::byte* payload, std::size_t bytes) {
  if (from < 0 || from >= kSize || from == kRank || bytes > longest) std::abort();
  volatile std::byte sum{};
  for (std::size_t i = 0; i < bytes; ++i) sum = sum ^ payload[i];
}

}  // namespace

// The input is a sequence of messages: two bytes of length, one of flags (1: the right secret, 2: a known sender,
// 4: the next number, 8: ready to send), then the message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const hr::boot::Processes processes;
  const Job job{.rank = kRank, .size = kSize, .processes = processes, .job_id = "fuzz"};
  network::Names names(job);
  if (!names.make_secret().ok()) std::abort();
  Handlers handlers;
  handlers.of_kind.fill(take);
  network::Inbox inbox(names, handlers, hr::counters::Buffers::kUcx);
  std::uint64_t token = 0;
  longest = size + sizeof(RendezvousData);
  fuzz::for_each_message(data, size, [&](std::vector<std::byte>& message, unsigned flags) {
    if (message.size() >= sizeof(network::Head)) {
      network::Head head;
      std::memcpy(&head, message.data(), sizeof head);
      if ((flags & 1) != 0) head.secret = names.own_secret();
      if ((flags & 2) != 0) head.from %= kSize;
      const int from = names.proc_of(head.from, head.secret);
      if ((flags & 4) != 0 && from >= 0) head.sequence = inbox.delivered(from);
      std::memcpy(message.data(), &head, sizeof head);
    }
    const std::uint64_t given = (flags & 8) != 0 ? ++token : 0;
    if (!inbox.take(message.data(), message.size(), given) && given != 0 && inbox.holds(given)) std::abort();
  });
  return 0;
}
