#include "bind/tool_variables.hpp"

#include <algorithm>
#include <vector>

#include "base/counter_parts.hpp"
#include "base/counters.hpp"
#include "base/counters_page.hpp"
#include "base/statistics.hpp"
#include "p2p/counting.hpp"

namespace hr::bind {
namespace {

using counters::Amount;
using counters::highest;
using counters::page;
using counters::Part;
using counters::total;
using Kind = PerformanceVariable::Kind;
using Variables = std::vector<PerformanceVariable>;

template <std::uint64_t Amount::* kMember>
std::uint64_t sent_to(std::size_t peer_class) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counters::kPeers; ++i) {
    const counters::Peer& row = page.peers[i];
    if (row.peer_class != peer_class) continue;
    sum += row.sent[1].*kMember +
           total(row.sent[0].*kMember, [i](Part& each) -> auto& { return each.peers[i].sent.*kMember; });
  }
  return sum;
}

template <std::uint64_t Amount::* kMember>
std::uint64_t sent_of(std::size_t memory) {
  if (memory != 0) return page.memories[memory].*kMember;
  std::uint64_t sum = 0;
  for (std::size_t each = 0; each < counters::kClasses; ++each) sum += sent_to<kMember>(each);
  for (const Amount& other : page.memories) sum -= other.*kMember;
  return sum;
}

template <std::uint64_t Amount::* kMember>
std::uint64_t received_by(std::size_t protocol) {
  return total(page.received[protocol].*kMember,
               [protocol](Part& each) -> auto& { return each.received[protocol].*kMember; });
}

std::uint64_t statistic(std::size_t index) {
  return total(value_of(index), [index](Part& each) -> auto& { return each.statistics[index]; });
}

// Adds two variables for each name: the number of messages, and the number of their bytes.
template <class Names>
void add(Variables& all, const std::string& prefix, const Names& names, const std::string& what,
         std::uint64_t (*messages)(std::size_t), std::uint64_t (*bytes)(std::size_t)) {
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const std::string name(names[i]);
    all.push_back({prefix + "_messages_" + name, Kind::kCounter, "Messages " + what + name + ".", messages, i});
    all.push_back({prefix + "_bytes_" + name, Kind::kCounter, "Bytes of messages " + what + name + ".", bytes, i});
  }
}

void add_queues(Variables& all) {
  const auto add_level = [&](const char* name, const char* sentence, std::uint64_t (*now)(std::size_t),
                             std::uint64_t (*most)(std::size_t)) {
    all.push_back({name, Kind::kLevel, std::string(sentence) + " now.", now});
    all.push_back(
        {std::string(name) + "_most", Kind::kHighWaterMark, std::string(sentence) + ": the most there were.", most});
  };
  add_level(
      "posted_receives", "Receives that wait for their message",
      [](std::size_t) { return total(page.posted.now, [](Part& each) -> auto& { return each.posted.now; }); },
      [](std::size_t) { return highest(page.posted.most, [](Part& each) -> auto& { return each.posted.most; }); });
  add_level(
      "unexpected_messages", "Messages that wait for their receive",
      [](std::size_t) { return total(page.unexpected.now, [](Part& each) -> auto& { return each.unexpected.now; }); },
      [](std::size_t) {
        return highest(page.unexpected.most, [](Part& each) -> auto& { return each.unexpected.most; });
      });
  add_level(
      "unexpected_bytes", "Memory in bytes of messages that wait for their receive",
      [](std::size_t) {
        return total(page.unexpected_bytes.now, [](Part& each) -> auto& { return each.unexpected_bytes.now; });
      },
      [](std::size_t) {
        return highest(page.unexpected_bytes.most, [](Part& each) -> auto& { return each.unexpected_bytes.most; });
      });
}

void add_buffers(Variables& all) {
  for (std::size_t i = 0; i < counters::kBuffers; ++i) {
    const std::string name = "buffer_bytes_" + std::string(counters::kBufferNames[i]);
    const std::string sentence =
        "Memory in bytes of communication buffers (" + std::string(counters::kBufferNames[i]) + ")";
    all.push_back(
        {name, Kind::kLevel, sentence + " now.", [](std::size_t index) { return page.buffers[index].now; }, i});
    all.push_back({name + "_most", Kind::kHighWaterMark, sentence + ": the most there was.",
                   [](std::size_t index) { return page.buffers[index].most; }, i});
  }
}

Variables make() {
  Variables all;
  for (std::size_t i = 0; i < std::size(kStatistics); ++i) {
    const StatisticRecord& record = kStatistics[i];
    all.push_back({record.name, record.kind == StatisticRecord::kCounter ? Kind::kCounter : Kind::kLevel,
                   record.sentence, statistic, i});
  }
  constexpr const char* kClassNames[] = {"self", "host", "other_host"};
  constexpr const char* kMemoryNames[] = {"host_memory", "pinned_memory", "managed_memory", "device_memory"};
  add(all, "sent", kClassNames, "sent, by where the receiver is: ", sent_to<&Amount::count>, sent_to<&Amount::bytes>);
  add(all, "sent", kMemoryNames, "sent, by the memory of their data: ", sent_of<&Amount::count>,
      sent_of<&Amount::bytes>);
  add(all, "received", p2p::names_of_protocols(), "received, by the way of their data: ", received_by<&Amount::count>,
      received_by<&Amount::bytes>);
  add_queues(all);
  add_buffers(all);
  all.push_back({"waits", Kind::kCounter, "Waits that were longer than some microseconds.",
                 [](std::size_t) { return total(page.waits, [](Part& each) -> auto& { return each.waits; }); }});
  all.push_back({"wait_nanoseconds", Kind::kCounter, "How long they were, from when they had become long.",
                 [](std::size_t) { return total(page.waited, [](Part& each) -> auto& { return each.waited; }); }});
  return all;
}

}  // namespace

std::span<const PerformanceVariable> performance_variables() {
  static const Variables all = make();
  return all;
}

}  // namespace hr::bind
