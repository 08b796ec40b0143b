// Agreement within a job at its start, with several kinds of launchers: one thread per process and one key-value space.
#include "boot/job_exchange.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace hr::boot {
namespace {

struct Space {
  explicit Space(int size) : views(static_cast<std::size_t>(size)), fences(size) {}
  std::mutex mutex;
  std::condition_variable changed;
  KeyValues values;
  std::vector<std::string> views;
  std::barrier<> fences;
};

struct Kind {
  bool ours;            // behaves like Headrace's launcher: names jobs, lets a process wait for a value, and compares
                        // views
  bool declares_hosts;  // the launcher declares the processes' hosts, whatever they detect
};

class Process final : public Provider {
 public:
  Process(Space& space, Kind kind, int rank) : space_(space), kind_(kind), rank_(rank) {}
  Status connect(Identity*, std::vector<int>*) override { return kOk; }
  [[nodiscard]] bool names_jobs() const noexcept override { return kind_.ours; }
  [[nodiscard]] bool can_wait() const noexcept override { return kind_.ours; }
  [[nodiscard]] bool compares_views() const noexcept override { return kind_.ours; }
  Status compare_views(std::string_view view, std::string* hosts) override {
    {
      const std::lock_guard guard(space_.mutex);
      space_.views[static_cast<std::size_t>(rank_)] = view;
    }
    space_.fences.arrive_and_wait();
    *hosts = format_hosts(hr::boot::compare_views(space_.views));
    return kOk;
  }
  Status put(std::string_view key, std::string_view value) override {
    const std::lock_guard guard(space_.mutex);
    EXPECT_TRUE(space_.values.emplace(key, value).second) << key << " is put twice";
    EXPECT_LT(value.size(), 1024U);
    space_.changed.notify_all();
    return kOk;
  }
  Status get(int /*owner*/, std::string_view key, std::string* value) override {
    ++gets;
    const std::lock_guard guard(space_.mutex);
    const auto found = space_.values.find(key);
    if (found == space_.values.end()) return fail(Errc::kOther, "there is no such key");
    *value = found->second;
    return kOk;
  }
  Status get_waiting(std::string_view key, std::string* value) override {
    ++gets;
    std::unique_lock lock(space_.mutex);
    space_.changed.wait(lock, [&] { return space_.values.contains(key); });
    *value = space_.values.find(key)->second;
    return kOk;
  }
  Status fence() override {
    ++fences;
    space_.fences.arrive_and_wait();
    return kOk;
  }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

  int gets = 0;
  int fences = 0;

 private:
  Space& space_;
  Kind kind_;
  int rank_;
};

struct Result {
  Identity identity;
  Hosts hosts;
  KeyValues settings;
  int gets = 0;
  int fences = 0;
};

// Starts a job whose process 0 publishes `said`; host_of returns the host of each rank.
std::vector<Result> start(Kind kind, int size, int (*host_of)(int), const std::string& said) {
  Space space(size);
  std::vector<Result> results(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Result& own = results[static_cast<std::size_t>(rank)];
      Process process(space, kind, rank);
      own.identity.rank = rank;
      own.identity.size = size;
      own.identity.job_id = "job";
      for (int each = 0; kind.declares_hosts && each < size; ++each) own.hosts.of_rank.push_back(host_of(each));
      own.settings["word"] = rank == 0 ? said : "";
      const std::string host = "host" + std::to_string(host_of(rank));
      EXPECT_TRUE(exchange_job(process, host, &own.identity, &own.hosts, &own.settings).ok()) << take_detail();
      own.gets = process.gets;
      own.fences = process.fences;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void expect_agreement(const std::vector<Result>& results, int (*host_of)(int), const std::string& said) {
  for (const Result& each : results) {
    ASSERT_EQ(each.hosts.of_rank.size(), results.size());
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      for (std::size_t other = 0; other < rank; ++other) {
        EXPECT_EQ(each.hosts.of_rank[rank] == each.hosts.of_rank[other],
                  host_of(static_cast<int>(rank)) == host_of(static_cast<int>(other)));
      }
    }
    EXPECT_EQ(each.hosts.of_rank, results[0].hosts.of_rank);
    EXPECT_EQ(each.identity.job_id, results[0].identity.job_id);
    EXPECT_EQ(each.settings.at("word"), said);
  }
}

int in_blocks(int rank) { return rank / 3; }
int in_turns(int rank) { return rank % 3; }
int anywhere(int rank) { return rank * rank % 5; }

TEST(JobExchange, EverybodyHasWhatProcessZeroSays) {
  const std::string rows(3000, 'r');
  for (const Kind kind : {Kind{true, true}, Kind{false, true}, Kind{false, false}, Kind{true, false}}) {
    for (const int size : {1, 2, 7, 12}) {
      for (const auto host_of : {in_blocks, in_turns, anywhere}) {
        SCOPED_TRACE(testing::Message() << "ours " << kind.ours << ", hosts " << kind.declares_hosts << ", " << size);
        const std::vector<Result> results = start(kind, size, host_of, rows);
        expect_agreement(results, host_of, rows);
        EXPECT_EQ(results[0].identity.job_id == "job", kind.ours) << "others' names are made unique";
      }
    }
  }
}

TEST(JobExchange, NoProcessAsksForAllOthers) {
  constexpr int kSize = 100;
  for (const auto host_of : {in_blocks, in_turns}) {
    const std::vector<Result> results = start({false, false}, kSize, host_of, "few");
    expect_agreement(results, host_of, "few");
    EXPECT_EQ(results[0].gets, kSize);
    for (std::size_t rank = 1; rank < kSize; ++rank) EXPECT_EQ(results[rank].gets, 1);
    for (const Result& each : results) EXPECT_EQ(each.fences, 2);
  }
}

TEST(JobExchange, OurLauncherNeedsNoFenceForIt) {
  for (const bool declares : {true, false}) {
    for (const Result& each : start({true, declares}, 9, in_turns, "few")) {
      EXPECT_EQ(each.fences, 0);
      EXPECT_LE(each.gets, 1);
    }
  }
}

}  // namespace
}  // namespace hr::boot
