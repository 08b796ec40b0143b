// Matches the two sides of a partitioned operation: the send sends an RTS, which the receive answers.
#include <climits>
#include <cstring>

#include "p2p/core/steps.hpp"
#include "p2p/partitioned/partitioned_operation.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

// Payload of the RTS; the envelope contains the length of all partitions.
struct RtsTail {
  std::uint64_t sender;
  std::int32_t partitions;
};

// Payload of the answer, whose header contains the id of the send.
struct AnswerTail {
  std::uint64_t bytes;     // length of the receive
  std::int32_t first_tag;  // kUnfit: the send has another length
};
constexpr std::int32_t kUnfit = -1;

// Limit far above any program's needs; memory for each partition is allocated when the two sides match.
constexpr std::int32_t kMostPartitions = 1 << 24;

PartitionedOperations& operations() { return own<PartitionedOperations>(); }

// Moves the first element of a key's queue to *out, and removes the queue if it is then empty. False if there is no
// element.
template <class Queues>
bool take_first(Queues& queues, const PartitionedOperations::Key& key, typename Queues::mapped_type::value_type* out) {
  const auto found = queues.find(key);
  if (found == queues.end()) return false;
  *out = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) queues.erase(found);
  return true;
}

// Returns the first of `count` tags that no other receive from that process uses on this context.
int reserve_tags(const PartitionedArguments& receive, int count) {
  PartitionedOperations& all = operations();
  for (;;) {
    if (count > INT_MAX - all.next_tag) {
      all.next_tag = 0;
      all.tags_are_reused = true;
    }
    const int first = all.next_tag;
    all.next_tag += count;
    bool taken = false;
    if (all.tags_are_reused) {
      for (const auto& [id, each] : all.alive) taken |= each->uses_tags(receive, first, count);
    }
    if (!taken) return first;
  }
}

void match(Partitioned& receive, const PartitionedRts& rts) {
  AnswerTail tail{receive.arguments().data.packed, kUnfit};
  if (tail.bytes == rts.bytes) {
    tail.first_tag = reserve_tags(receive.arguments(), rts.partitions);
    receive.match(rts.partitions, tail.first_tag);
  } else {
    receive.match_other_size(rts.bytes);
  }
  send_control(rts.from_proc, wire::answer(Kind::kPartitionsMatched, rts.sender), &tail, sizeof tail);
}

void deliver_partitioned_rts(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  const Envelope envelope = wire::envelope_of(header);
  RtsTail tail{};
  const bool is_whole = bytes >= sizeof tail;
  if (is_whole) std::memcpy(&tail, payload, sizeof tail);
  if (!is_whole || tail.partitions < 0 || tail.partitions > kMostPartitions)
    return drop_arrival(from, header, payload, bytes);
  const PartitionedRts rts{from, tail.sender, header.words[2], tail.partitions};
  const PartitionedOperations::Key key{envelope.context, envelope.source, envelope.tag};
  PartitionedOperations& all = operations();
  std::uint64_t id = 0;
  if (!take_first(all.posted, key, &id)) {
    all.unmatched[key].push_back(rts);
    return;
  }
  // A receive that was freed before it was started still counts as matched.
  if (const auto receive = all.alive.find(id); receive != all.alive.end()) match(*receive->second, rts);
}

void deliver_answer(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  AnswerTail tail;
  std::memcpy(&tail, payload, sizeof tail);
  const auto found = operations().alive.find(header.words[2]);
  if (found == operations().alive.end()) return;
  Partitioned& send = *found->second;
  const bool has_tags = tail.first_tag >= 0 && tail.first_tag <= INT_MAX - send.arguments().partitions;
  if (!send.waits_for(from) || !(has_tags || tail.first_tag == kUnfit))
    return drop_arrival(from, header, payload, bytes);
  if (tail.first_tag == kUnfit) {
    send.match_other_size(tail.bytes);
  } else {
    send.match(send.arguments().partitions, tail.first_tag);
  }
}

constexpr Arrival kArrivals[] = {
    {Kind::kPartitions, deliver_partitioned_rts},
    arrival<deliver_answer, sizeof(AnswerTail)>(Kind::kPartitionsMatched),
};

}  // namespace

std::span<const Arrival> partitioned_arrivals() noexcept { return kArrivals; }

void send_partitioned_rts(Partitioned& send) {
  const PartitionedArguments& arguments = send.arguments();
  const RtsTail tail{send.id(), arguments.partitions};
  send_control(
      arguments.peer_proc,
      wire::envelope(Kind::kPartitions, {arguments.context, arguments.own_rank, arguments.tag}, arguments.data.packed),
      &tail, sizeof tail);
}

void post_partitioned(Partitioned& receive) {
  const PartitionedArguments& arguments = receive.arguments();
  const PartitionedOperations::Key key{arguments.context, arguments.peer_rank, arguments.tag};
  PartitionedRts rts{};
  if (take_first(operations().unmatched, key, &rts)) {
    match(receive, rts);
  } else {
    operations().posted[key].push_back(receive.id());
  }
}

}  // namespace hr::p2p
