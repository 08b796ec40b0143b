// Results of the rendezvous protocols' probes, computed from transport and device figures alone, without a job.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

constexpr std::size_t kSizes[] = {1, 4096, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{64} << 20};

transport::Caps memory_caps() {
  return {.inline_bytes = 96,
          .max_payload = std::size_t{1} << 20,
          .chunk_bytes = std::size_t{32} << 10,
          .remote_read = true,
          .same_node = true,
          .latency_seconds = 150e-9,
          .bytes_per_second = 8e9,
          .host_memory = {0.8e-6, 20e9}};
}
transport::Caps network_caps() {
  return {.max_payload = 8192, .chunk_bytes = 8192, .latency_seconds = 10e-6, .bytes_per_second = 2e9};
}

// Returns the names of the protocols that apply, the best one first.
std::string order(const MessageClass& message, const transport::Caps& caps) {
  std::string names;
  double last = -1;
  for (std::size_t count = 0; count < protocols().size(); ++count) {
    const Rendezvous* next = nullptr;
    for (const Rendezvous* each : protocols()) {
      const double seconds = each->probe(message, caps).seconds;
      if (seconds <= last || seconds == kNever) continue;
      if (next == nullptr || seconds < next->probe(message, caps).seconds) next = each;
    }
    if (next == nullptr) break;
    last = next->probe(message, caps).seconds;
    names += (names.empty() ? "" : " ") + std::string(next->name);
  }
  return names;
}

MessageClass host_message(std::size_t bytes) {
  MessageClass message;
  message.bytes = bytes;
  message.readable = true;
  return message;
}
MessageClass device_message(std::size_t bytes) {
  MessageClass message;
  message.bytes = bytes;
  message.flags = wire::kDevice | wire::kMovable | wire::kView;
  message.to = mem::Kind::kDevice;
  return message;
}

TEST(Probes, HostMemoryByTheTransportsFigures) {
  const auto message = host_message(std::size_t{1} << 20);
  EXPECT_EQ(order(message, memory_caps()), "single_copy stream");
  transport::Caps slow_to_read = memory_caps();
  slow_to_read.host_memory = {5e-6, 2e9};
  EXPECT_EQ(order(message, slow_to_read), "stream single_copy");
  EXPECT_EQ(order(message, network_caps()), "stream");
  EXPECT_EQ(order(host_message(0), memory_caps()), "stream");
  EXPECT_EQ(order(host_message(4096), memory_caps()), "stream") << "below single_copy_bytes";
}

TEST(Probes, TheFiguresAreTheCosts) {
  transport::Caps caps = memory_caps();
  const auto message = host_message(std::size_t{1} << 20);
  const auto seconds = [&](const char* name) {
    for (const Rendezvous* each : protocols()) {
      if (each->name == std::string(name)) return each->probe(message, caps).seconds;
    }
    return std::nan("");
  };
  EXPECT_NEAR(seconds("single_copy"), 0.8e-6 + 0x1p20 / 20e9, 1e-9);
  EXPECT_NEAR(seconds("stream"), 2 * 150e-9 + 0x1p20 / 8e9, 1e-9);
  caps.latency_seconds = 1e-3;
  EXPECT_NEAR(seconds("stream"), 2e-3 + 0x1p20 / 8e9, 1e-9);
}

// The read protocol is the only one whose estimate may be far off.
TEST(Probes, OnlyReadingIsUncertain) {
  for (const Rendezvous* each : protocols()) {
    const Estimate estimate = each->probe(host_message(std::size_t{1} << 20), memory_caps());
    EXPECT_EQ(estimate.uncertain, each->name == std::string("single_copy")) << each->name;
  }
}

TEST(Probes, ToOneself) {
  transport::Caps caps{.max_payload = 1 << 30,
                       .chunk_bytes = 1 << 20,
                       .remote_read = true,
                       .same_address_space = true,
                       .latency_seconds = 50e-9,
                       .bytes_per_second = 10e9,
                       .host_memory = {0, 10e9}};
  for (const std::size_t bytes : kSizes) {
    EXPECT_EQ(order(host_message(bytes), caps).find("local_copy"), 0U) << bytes;
    EXPECT_EQ(order(device_message(bytes), caps).find("local_copy"), 0U) << bytes;
  }
}

// The order of preference on devices, for any length.
TEST(Probes, Devices) {
  for (const std::size_t bytes : kSizes) {
    EXPECT_EQ(order(device_message(bytes), memory_caps()), "device_get staged stream") << bytes;
    MessageClass pool = device_message(bytes);
    pool.flags &= ~std::uint64_t{wire::kView};
    EXPECT_EQ(order(pool, memory_caps()), "staged stream") << bytes;
    MessageClass to_pinned = device_message(bytes);
    to_pinned.to = mem::Kind::kHost;
    EXPECT_EQ(order(to_pinned, memory_caps()), "staged stream") << bytes;
    to_pinned.to_pinned = true;
    EXPECT_EQ(order(to_pinned, memory_caps()), "device_get staged stream") << bytes;
    MessageClass from_pinned = device_message(bytes);
    from_pinned.flags = wire::kPinned;
    EXPECT_EQ(order(from_pinned, memory_caps()), "staged stream") << bytes;
    from_pinned.to_exportable = true;
    EXPECT_EQ(order(from_pinned, memory_caps()), "device_put staged stream") << bytes;
    EXPECT_EQ(order(device_message(bytes), network_caps()), "device_get stream") << bytes;
  }
}

// If the network accepts device memory directly, autotuning decides between direct transfers and staged pieces; the
// staged pieces are the first choice.
TEST(Probes, DeviceMemoryOfOtherHosts) {
  transport::Caps caps = network_caps();
  caps.rendezvous = true;
  caps.device_rendezvous = true;
  MessageClass message = device_message(std::size_t{1} << 20);
  message.flags = wire::kDevice | wire::kMovable | wire::kDirect;
  const auto probe = [&](const char* name) {
    for (const Rendezvous* each : protocols()) {
      if (each->name == std::string(name)) return each->probe(message, caps);
    }
    return kNotApplicable;
  };
  EXPECT_EQ(probe("network direct").seconds, probe("network staged").seconds);
  EXPECT_TRUE(probe("network direct").uncertain);
  EXPECT_EQ(order(message, caps), "network staged stream");
  message.to = mem::Kind::kHost;
  EXPECT_LT(probe("network direct").seconds, kNever);
  message.to = mem::Kind::kManaged;
  EXPECT_EQ(probe("network direct").seconds, kNever);
  message.to = mem::Kind::kDevice;
  message.to_contiguous = false;
  EXPECT_EQ(probe("network direct").seconds, kNever);
  message.to_contiguous = true;
  message.flags &= ~std::uint64_t{wire::kDirect};
  EXPECT_EQ(probe("network direct").seconds, kNever) << "the sender has not said that its transport takes it";
  message.flags |= wire::kDirect;
  caps.device_rendezvous = false;
  EXPECT_EQ(probe("network direct").seconds, kNever);
}

// On a time-sliced GPU, copy engines are faster up to the length at which one context switch is faster.
TEST(Probes, TimeSlices) {
  MessageClass message = device_message(std::size_t{1} << 20);
  message.time_sliced = true;
  EXPECT_EQ(order(message, memory_caps()).find("staged"), 0U);
  message.bytes = staged_time_sliced_bytes() * 2;
  EXPECT_EQ(order(message, memory_caps()).find("device_get"), 0U);
  message.bytes = 8192;
  message.to_contiguous = false;
  EXPECT_EQ(order(message, memory_caps()).find("device_get"), 0U) << "one kernel, not two";
}

// Message classes differ in every input of a probe.
TEST(Probes, ClassesHaveKeysOfTheirOwn) {
  std::vector<MessageClass> classes;
  classes.push_back(host_message(1 << 20));
  classes.push_back(host_message(1 << 21));
  classes.push_back(host_message((1 << 20) + 1));
  classes.push_back(host_message(0));
  classes.push_back(device_message(1 << 20));
  for (const bool MessageClass::* each :
       {&MessageClass::readable, &MessageClass::from_contiguous, &MessageClass::time_sliced,
        &MessageClass::to_contiguous, &MessageClass::to_pinned, &MessageClass::to_exportable}) {
    MessageClass other = host_message(1 << 20);
    other.*const_cast<bool MessageClass::*>(each) = !(other.*each);
    classes.push_back(other);
  }
  for (const auto kind : {mem::Kind::kManaged, mem::Kind::kDevice}) {
    classes.push_back(host_message(1 << 20));
    classes.back().to = kind;
  }
  for (const auto flag :
       {wire::kDevice, wire::kManaged, wire::kMovable, wire::kView, wire::kPinned, wire::kChunks, wire::kDirect}) {
    classes.push_back(host_message(1 << 20));
    classes.back().flags = flag;
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    EXPECT_LT(classes[i].key(), std::uint64_t{1} << 32);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(classes[i].key(), classes[j].key()) << i << " " << j;
  }
}

}  // namespace
}  // namespace hr::p2p
