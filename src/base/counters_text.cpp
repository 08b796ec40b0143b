// The page's description of itself, in JSON: its process, its counters, and their offsets.
#include <sched.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/counter_details.hpp"
#include "base/counter_parts.hpp"
#include "base/counters.hpp"
#include "base/counters_page.hpp"
#include "base/json_writer.hpp"
#include "base/machine.hpp"
#include "base/statistics.hpp"

namespace hr::counters {
namespace {

// Returns the GPUs that the variable leaves visible; empty: all, "none": the variable is empty.
std::string visible_gpus() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (value == nullptr) return {};
  return *value != '\0' ? value : "none";
}

// Returns the ranges of CPUs that this process may run on.
std::string cores() {
  std::string line;
  for (std::ifstream status("/proc/self/status"); std::getline(status, line);) {
    if (line.starts_with("Cpus_allowed_list:")) return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  }
  return {};
}

// Returns the start time in clock ticks since boot, as shown in /proc, which distinguishes this process from a later
// one with its pid.
std::string start_of_this_process() {
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line, '\0');
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos) return "0";
  std::istringstream fields(line.substr(after_name + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  return field;
}

std::string program() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string about_text(const About& about) {
  return "{\"job\":" + json_quoted(about.job) + ",\"rank\":" + std::to_string(about.rank) +
         ",\"size\":" + std::to_string(about.size) + ",\"host\":" + json_quoted(host_name()) +
         ",\"host_number\":" + std::to_string(about.host_number) + ",\"pid\":" + std::to_string(::getpid()) +
         ",\"pid_started\":" + start_of_this_process() + ",\"user\":" + std::to_string(::getuid()) +
         ",\"program\":" + json_quoted(program()) + ",\"cores\":" + json_quoted(cores()) +
         ",\"gpus\":" + json_quoted(visible_gpus()) + ",\"library\":" + json_quoted(about.library) + "}";
}

template <class Labels>
std::string dimension(const char* name, const Labels& labels) {
  std::string out = std::string("\"") + name + "\":{\"length\":" + std::to_string(labels.size()) + ",\"labels\":[";
  out.reserve(out.size() + 32 * labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    // The library's own names contain no characters that JSON must escape.
    out.append(i == 0 ? "\"" : ",\"").append(labels[i]).append("\"");
  }
  return out.append("]}");
}

std::vector<std::string> size_classes() {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < kSizes; ++i) {
    const std::uint64_t first = i == 0 ? 0 : std::uint64_t{1} << i;
    labels.push_back(std::to_string(first) + "-" + std::to_string((std::uint64_t{2} << i) - 1));
  }
  return labels;
}

// Element n of operation i is at i * sizes + n.
std::string operation_sizes(const About& about) {
  std::string names;
  for (const std::string_view each : about.operations)
    names += (names.empty() ? "\"" : ",\"") + std::string(each) + "\"";
  return ",\"operation_size\":{\"length\":" + std::to_string(kOperations * kOperationSizes) +
         ",\"sizes\":" + std::to_string(kOperationSizes) + ",\"operations\":[" + names + "]}";
}

std::string dimensions(const About& about) {
  constexpr std::string_view kMemoryNames[kMemories] = {"host", "pinned", "managed", "device"};
  constexpr std::string_view kAccessNames[kAccesses] = {"put", "get", "accumulate", "fetch", "read", "write"};
  const std::string row = std::to_string(kPeers - kClasses);
  return "{" + dimension("function", about.functions) + "," + dimension("protocol", about.protocols) + "," +
         dimension("algorithm", about.algorithms) + "," + dimension("size", size_classes()) + "," +
         dimension("memory", std::span(kMemoryNames)) + "," + dimension("access", std::span(kAccessNames)) + "," +
         dimension("buffer", std::span(kBufferNames)) + operation_sizes(about) +
         ",\"mark\":{\"length\":" + std::to_string(kMarks) + "},\"peer\":{\"length\":" + std::to_string(kPeers) +
         ",\"others\":{\"" + row + "\":\"this process (others)\",\"" + std::to_string(kPeers - 2) +
         "\":\"same host (others)\",\"" + std::to_string(kPeers - 1) + "\":\"other hosts (others)\"}}}";
}

constexpr const char* kSum = "sum";
constexpr const char* kLevel = "level";
constexpr const char* kHighWater = "high_water";

struct Entry {
  const char* name;
  const char* kind;
  const char* unit;
  std::size_t at;
  const char* sentence;
  const char* dimension = nullptr;
  std::size_t stride = 0;
  const char* rest_of = nullptr;  // if set, element 0 is not stored: it is this counter minus the stored elements
};

#define HR_AT(member) offsetof(Page, member)
constexpr std::size_t kFunctionBytes = sizeof(Function);
constexpr std::size_t kPeerBytes = sizeof(Peer);
constexpr std::size_t kAmountBytes = sizeof(Amount);
constexpr std::size_t kBytesIn = offsetof(Amount, bytes);
constexpr std::size_t kSentAt = HR_AT(peers) + offsetof(Peer, sent);
constexpr std::size_t kInternalAt = kSentAt + kAmountBytes;

constexpr Entry kEntries[] = {
    {"now.function", kLevel, "function", HR_AT(now) + offsetof(Now, function),
     "The function that the program is in, by its place; 0: none."},
    {"now.waiting_since", kLevel, "nanoseconds", HR_AT(now) + offsetof(Now, waiting_since),
     "Since when it has been waiting, by CLOCK_MONOTONIC; 0: it is not, or not for long."},
    {"now.waiting_for", kLevel, "process", HR_AT(now) + offsetof(Now, waiting_for),
     "The process that it waits for, plus 1; 0: no single process."},
    {"function.calls", kSum, "calls", HR_AT(functions), "Calls of the program.", "function", kFunctionBytes},
    {"function.time", kSum, "nanoseconds", HR_AT(functions) + offsetof(Function, nanoseconds),
     "Time within the function: long waits, and an estimate of the rest from calls that are timed.", "function",
     kFunctionBytes},
    {"function.bytes", kSum, "bytes", HR_AT(functions) + offsetof(Function, bytes), "Bytes of messages sent in it.",
     "function", kFunctionBytes},
    {"function.wait", kSum, "nanoseconds", HR_AT(waited_in), "Long waits within the function.", "function", 8},
    {"peer.process", kLevel, "process", HR_AT(peers), "The row's process, plus 1; in the own job, its rank.", "peer",
     kPeerBytes},
    {"peer.class", kLevel, "class", HR_AT(peers) + offsetof(Peer, peer_class),
     "0: this process, 1: on this host, 2: on another host.", "peer", kPeerBytes},
    {"peer.messages", kSum, "messages", kSentAt, "The program's messages sent to it.", "peer", kPeerBytes},
    {"peer.bytes", kSum, "bytes", kSentAt + kBytesIn, "Bytes of them.", "peer", kPeerBytes},
    {"peer.internal_messages", kSum, "messages", kInternalAt, "The library's own messages sent to it.", "peer",
     kPeerBytes},
    {"peer.internal_bytes", kSum, "bytes", kInternalAt + kBytesIn, "Bytes of them.", "peer", kPeerBytes},
    {"peer.waits", kSum, "waits", HR_AT(peers) + offsetof(Peer, waits), "Long waits for it.", "peer", kPeerBytes},
    {"peer.wait", kSum, "nanoseconds", HR_AT(peers) + offsetof(Peer, waited), "Duration of these waits.", "peer",
     kPeerBytes},
    {"sent.sizes", kSum, "messages", HR_AT(sizes), "Messages sent, by their length in bytes.", "size", 8},
    {"sent.all_bytes", kSum, "bytes", HR_AT(functions) + offsetof(Function, bytes), "Bytes of messages sent.",
     "function", kFunctionBytes},
    {"sent.memory_messages", kSum, "messages", HR_AT(memories), "Messages sent, by the memory of their data.", "memory",
     kAmountBytes, "sent.sizes"},
    {"sent.memory_bytes", kSum, "bytes", HR_AT(memories) + kBytesIn, "Bytes of them.", "memory", kAmountBytes,
     "sent.all_bytes"},
    {"announced.messages", kSum, "messages", HR_AT(rendezvous),
     "Messages sent whose data is sent when the receiver requests it; that of the others is sent at once."},
    {"announced.bytes", kSum, "bytes", HR_AT(rendezvous) + kBytesIn, "Bytes of them."},
    {"received.messages", kSum, "messages", HR_AT(received),
     "Messages that have arrived, by the way in which their data moved.", "protocol", kAmountBytes},
    {"received.bytes", kSum, "bytes", HR_AT(received) + kBytesIn, "Bytes of them.", "protocol", kAmountBytes},
    {"received.memory_messages", kSum, "messages", HR_AT(to_memories),
     "The same, by the memory into which they are received.", "memory", kAmountBytes, "received.messages"},
    {"received.memory_bytes", kSum, "bytes", HR_AT(to_memories) + kBytesIn, "Bytes of them.", "memory", kAmountBytes,
     "received.bytes"},
    {"posted.now", kLevel, "receives", HR_AT(posted), "Receives that wait for their message."},
    {"posted.most", kHighWater, "receives", HR_AT(posted) + offsetof(Level, most), "Largest number in one context."},
    {"unexpected.now", kLevel, "messages", HR_AT(unexpected), "Messages that wait for their receive."},
    {"unexpected.most", kHighWater, "messages", HR_AT(unexpected) + offsetof(Level, most),
     "Largest number of such messages."},
    {"unexpected.bytes", kLevel, "bytes", HR_AT(unexpected_bytes), "Memory that these messages occupy."},
    {"unexpected.most_bytes", kHighWater, "bytes", HR_AT(unexpected_bytes) + offsetof(Level, most),
     "Largest amount of this memory."},
    {"unexpected.messages", kSum, "messages", HR_AT(unexpected_messages),
     "Messages that had to wait for their receive."},
    {"buffer.now", kLevel, "bytes", HR_AT(buffers), "Memory of communication buffers, by the part that keeps them.",
     "buffer", sizeof(Level)},
    {"buffer.most", kHighWater, "bytes", HR_AT(buffers) + offsetof(Level, most), "Largest amount of it.", "buffer",
     sizeof(Level)},
    {"wait.times", kSum, "waits", HR_AT(waits), "Long waits: of more than some microseconds."},
    {"wait.time", kSum, "nanoseconds", HR_AT(waited),
     "Duration of long waits, from the time at which they became long."},
    {"wait.longest", kHighWater, "nanoseconds", HR_AT(longest_wait), "The longest."},
    {"collective.calls", kSum, "operations", HR_AT(algorithms),
     "Collective operations, and steps of those over several hosts.", "algorithm", kAmountBytes},
    {"collective.bytes", kSum, "bytes", HR_AT(algorithms) + kBytesIn, "Their bytes, as selection counts them.",
     "algorithm", kAmountBytes},
    {"collective.sizes", kSum, "operations", HR_AT(operations),
     "The same by operation and size: place 0 of each has no bytes, place n less than 2^n.", "operation_size", 8},
    {"access.calls", kSum, "operations", HR_AT(accesses), "Operations on windows and files.", "access", kAmountBytes},
    {"access.bytes", kSum, "bytes", HR_AT(accesses) + kBytesIn, "Bytes of them.", "access", kAmountBytes},
    {"phase.marks", kSum, "marks", HR_AT(marks), "Calls of MPI_Pcontrol."},
    {"phase.time", kLevel, "nanoseconds", HR_AT(mark), "When the last ones were, since 1970: mark n at n % length.",
     "mark", sizeof(Mark)},
    {"phase.level", kLevel, "level", HR_AT(mark) + offsetof(Mark, level), "Their levels.", "mark", sizeof(Mark)},
};
#undef HR_AT

std::string entry_text(const Entry& entry) {
  std::string out = std::string("{\"name\":\"") + entry.name + "\",\"kind\":\"" + entry.kind + "\",\"unit\":\"" +
                    entry.unit + "\",\"at\":" + std::to_string(entry.at);
  if (entry.dimension != nullptr)
    out += std::string(",\"dimension\":\"") + entry.dimension + "\",\"stride\":" + std::to_string(entry.stride);
  if (entry.rest_of != nullptr) out += std::string(",\"rest\":{\"place\":0,\"of\":\"") + entry.rest_of + "\"}";
  return out + ",\"sentence\":" + json_quoted(entry.sentence) + "}";
}

std::string entries() {
  std::string out = "[";
  for (const Entry& each : kEntries) out += (out.size() > 1 ? "," : "") + entry_text(each);
  for (std::size_t i = 0; i < std::size(kStatistics); ++i) {
    const StatisticRecord& record = kStatistics[i];
    const std::string name = std::string("library.") + record.name;
    out += "," + entry_text({name.c_str(), record.kind == StatisticRecord::kLevel ? kLevel : kSum, "",
                             offsetof(Page, statistics) + i * sizeof(Value), record.sentence});
  }
  return out + "]";
}

// Describes `count` counters that the parts and the page have in common: their offsets in both, and their strides.
std::string range(std::size_t in_part, std::size_t in_page, std::size_t count, std::size_t part_stride = sizeof(Value),
                  std::size_t page_stride = sizeof(Value)) {
  std::string out;
  for (const std::size_t each : {in_part, in_page, count, part_stride, page_stride})
    out += (out.empty() ? "[" : ",") + std::to_string(each);
  return out + "]";
}

// Describes the functions in ranges in which both numbers and places are consecutive.
std::string ranges_of_functions(std::span<const std::uint16_t> numbers) {
  constexpr std::size_t kWords = sizeof(Function) / sizeof(Value);
  std::string out;
  for (std::size_t place = 1, length = 0; place < numbers.size(); place += length) {
    length = 1;
    while (place + length < numbers.size() && numbers[place + length] == numbers[place] + length) ++length;
    out += "," + range(offsetof(Part, functions) + place * sizeof(Function),
                       offsetof(Page, functions) + numbers[place] * sizeof(Function), length * kWords);
    out += "," + range(offsetof(Part, waited_in) + place * sizeof(Value),
                       offsetof(Page, waited_in) + numbers[place] * sizeof(Value), length);
  }
  return out;
}

// Describes to readers how to add the parts after the page to its counters (counter_parts.hpp).
std::string parts_text(const About& about) {
#define HR_RANGE(member, count) range(offsetof(Part, member), offsetof(Page, member), count)
#define HR_LEVEL(level, word) \
  range(offsetof(Part, level) + offsetof(Level, word), offsetof(Page, level) + offsetof(Level, word), 1)
  std::string sums;
  for (const std::string& each :
       {HR_RANGE(waits, 2), HR_LEVEL(posted, now), HR_LEVEL(unexpected, now), HR_LEVEL(unexpected_bytes, now),
        HR_RANGE(unexpected_messages, 1), HR_RANGE(rendezvous, 2), HR_RANGE(received, 2 * kProtocols),
        HR_RANGE(sizes, kSizes), HR_RANGE(statistics, kStatisticPlaces), HR_RANGE(accesses, 2 * kAccesses)})
    sums += (sums.empty() ? "" : ",") + each;
  const std::size_t sent = offsetof(Part, peers) + offsetof(PeerPart, sent);
  for (const auto& [in_part, in_page] :
       {std::pair{sent, kSentAt}, std::pair{sent + kBytesIn, kSentAt + kBytesIn},
        std::pair{offsetof(Part, peers) + offsetof(PeerPart, waits), offsetof(Page, peers) + offsetof(Peer, waits)},
        std::pair{offsetof(Part, peers) + offsetof(PeerPart, waited), offsetof(Page, peers) + offsetof(Peer, waited)}})
    sums += "," + range(in_part, in_page, kPeers, sizeof(PeerPart), sizeof(Peer));
  const std::string most = HR_RANGE(longest_wait, 1) + "," + HR_LEVEL(posted, most) + "," + HR_LEVEL(unexpected, most) +
                           "," + HR_LEVEL(unexpected_bytes, most);
  return ",\"parts\":{\"at\":" + std::to_string(sizeof(Page) + sizeof(Details)) +
         ",\"stride\":" + std::to_string(sizeof(Part)) + ",\"sum\":[" + sums + ranges_of_functions(about.places) +
         "],\"most\":[" + most + "],\"now\":" + HR_RANGE(now, 3) + "}";
#undef HR_LEVEL
#undef HR_RANGE
}
static_assert(offsetof(Part, waited) == offsetof(Part, waits) + sizeof(Value) &&
              offsetof(Page, waited) == offsetof(Page, waits) + sizeof(Value));

std::string member(const char* name, std::size_t value) {
  return std::string("\"") + name + "\":" + std::to_string(value);
}

// Describes the details (counter_details.hpp) by their offsets in the file.
std::string details_text() {
  const auto at = [](std::size_t in_details) { return sizeof(Page) + in_details; };
  return ",\"durations\":{" + member("at", at(offsetof(Details, durations))) + "," +
         member("functions", at(offsetof(Details, functions))) + "," + member("rows", kDurationRows) + "," +
         member("classes", kDurations) + "," + member("shortest", kShortest) + "},\"reports\":{" +
         member("at", at(offsetof(Details, report))) + "," + member("all", at(offsetof(Details, reports))) + "," +
         member("kept", at(offsetof(Details, kept))) + "," + member("length", kReports) + "," +
         member("stride", sizeof(Report)) + "}";
}

}  // namespace

std::string describe(const About& about) {
  return "{\"about\":" + about_text(about) + ",\"dimensions\":" + dimensions(about) + ",\"counters\":" + entries() +
         parts_text(about) + details_text() + "}";
}

}  // namespace hr::counters
