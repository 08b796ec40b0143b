// The start of a job of up to 10,000 processes, one process after the other, with a launcher that replies as if the
// other processes existed. Counts the messages and bytes of each kind of process, and the memory that the process
// keeps. With `--gtest_print_time=0`, this program prints the table of docs/adr/0025-who-is-on-my-host.md.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "boot/host_view.hpp"
#include "boot/state.hpp"

namespace hr::boot {
namespace {

// Bytes of a network address as a launcher stores it: a UCX address on a host with one Ethernet interface, as text.
constexpr std::size_t kAddress = 300;

struct Counts {
  std::size_t messages = 0;  // messages to the launcher, each with a reply
  std::size_t fences = 0;
  std::size_t put = 0;  // bytes of keys and values
  std::size_t got = 0;
};

// Keys put by process 0 and by one other host's first process, for processes started later.
struct Job {
  bool ours;
  int ranks;
  int ranks_a_host;
  KeyValues values;
};

std::string view_of_host(int host) {
  char token[40];
  std::snprintf(token, sizeof token, "%032x", host);
  return std::string(token) + ".4026531836-4026531837";
}

class Launcher final : public Provider {
 public:
  Launcher(Job& job, int rank, Counts& counts) : job_(job), rank_(rank), counts_(counts) {}
  Status connect(Identity* identity, std::vector<int>*) override {
    identity->rank = rank_;
    identity->size = job_.ranks;
    identity->job_id = "start-scale";
    identity->has_launcher = true;
    return kOk;
  }
  [[nodiscard]] bool names_jobs() const noexcept override { return job_.ours; }
  [[nodiscard]] bool can_wait() const noexcept override { return job_.ours; }
  [[nodiscard]] bool compares_views() const noexcept override { return job_.ours; }
  Status compare_views(std::string_view view, std::string* hosts) override {
    Hosts told;
    for (int rank = 0; rank < job_.ranks; ++rank) told.of_rank.push_back(rank / job_.ranks_a_host);
    *hosts = format_hosts(told);
    ++counts_.messages;
    counts_.put += view.size();
    counts_.got += hosts->size();
    return kOk;
  }
  Status put(std::string_view key, std::string_view value) override {
    ++counts_.messages;
    counts_.put += key.size() + value.size();
    job_.values.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }
  Status get(int owner, std::string_view key, std::string* value) override {
    ++counts_.messages;
    const auto found = job_.values.find(key);
    if (key.starts_with("headrace-view-") && owner >= job_.ranks_a_host) {
      *value = view_of_host(owner / job_.ranks_a_host);
    } else if (key.starts_with("headrace-view-")) {
      *value = job_.values.at("headrace-view-0");
    } else if (found != job_.values.end()) {
      *value = found->second;
    } else {
      return fail(Errc::kOther, "nobody has put this key");
    }
    counts_.got += value->size();
    return kOk;
  }
  Status get_waiting(std::string_view key, std::string* value) override { return get(0, key, value); }
  Status fence() override {
    ++counts_.messages;
    ++counts_.fences;
    return kOk;
  }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

 private:
  Job& job_;
  int rank_;
  Counts& counts_;
};

std::size_t in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Starts one process, from init() to the transports' fence; *kept receives the memory that it keeps.
Counts start(Job& job, int rank, std::size_t* kept) {
  Counts counts;
  const std::size_t before = in_use();
  EXPECT_TRUE(init_with(std::make_unique<Launcher>(job, rank, counts), "mock", {}).ok()) << take_detail();
  *kept = in_use() - before;
  EXPECT_EQ(processes().size(), job.ranks);
  EXPECT_EQ(processes().host_of(job.ranks - 1), (job.ranks - 1) / job.ranks_a_host);
  node_put("shm", "/proc/123456/fd/12");
  EXPECT_TRUE(put("headrace-ucx-" + std::to_string(rank), std::string(kAddress, 'a')).ok());
  EXPECT_TRUE(fence().ok());
  std::string segment;
  EXPECT_TRUE(node_get("shm", &segment).ok());
  EXPECT_EQ(segment, "/proc/123456/fd/12");
  EXPECT_TRUE(finalize().ok());
  return counts;
}

TEST(StartScale, WhatAStartTakes) {
  std::printf(
      "| launcher | ranks x hosts | fences | messages of rank 0, of a host's first, of others | of all | "
      "bytes put by all | bytes got by rank 0, by others | kept a rank |\n|---|---|---|---|---|---|---|---|\n");
  for (const bool ours : {true, false}) {
    for (const int ranks : {100, 1000, 10000}) {
      constexpr int kRanksAHost = 100;
      const auto hosts = static_cast<std::size_t>(ranks / kRanksAHost);
      Job job{ours, ranks, kRanksAHost, {}};
      std::size_t kept = 0;
      const Counts zero = start(job, 0, &kept);
      Counts first = zero;
      Counts other = zero;
      if (hosts > 1) {
        first = start(job, ranks - kRanksAHost, &kept);
        other = start(job, ranks - 1, &kept);
      } else {
        other = start(job, 1, &kept);
      }
      const std::size_t others = static_cast<std::size_t>(ranks) - hosts;
      const std::size_t all = zero.messages + (hosts - 1) * first.messages + others * other.messages;
      const std::size_t put = zero.put + (hosts - 1) * first.put + others * other.put;
      std::printf("| %s | %d x %zu | %zu | %zu, %zu, %zu | %zu | %zu KB | %.1f KB, %zu B | %.1f KB |\n",
                  ours ? "ours" : "others'", ranks, hosts, other.fences, zero.messages, first.messages, other.messages,
                  all, put / 1000, static_cast<double>(zero.got) / 1000, other.got, static_cast<double>(kept) / 1000);
      EXPECT_LE(other.messages, 8U) << "of every process alike, however many there are";
      EXPECT_EQ(other.fences, ours ? 1U : 3U);
      EXPECT_LE(zero.messages, ours ? 8U : 8U + static_cast<std::size_t>(ranks));
      EXPECT_LE(other.got, 600U) << "no process but the first reads what grows with the job";
      EXPECT_LE(put, static_cast<std::size_t>(ranks) * (kAddress + 150));
      EXPECT_LE(kept, 64U * static_cast<std::size_t>(ranks) + 4096U);
    }
  }
}

}  // namespace
}  // namespace hr::boot
