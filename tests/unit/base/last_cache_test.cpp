// The last-level cache of CPUs, on a synthetic machine and on this one.
#include "base/last_cache.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hr {
namespace {

class LastCache : public ::testing::Test {
 protected:
  LastCache() { std::filesystem::create_directories(directory_); }
  ~LastCache() override { std::filesystem::remove_all(directory_); }

  void add(unsigned cpu, int index, int level, const char* shared) {
    const std::filesystem::path cache =
        directory_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "shared_cpu_list") << shared << '\n';
  }
  [[nodiscard]] std::string of(unsigned cpu) const { return last_cache_of_cpu(cpu, directory_.string()); }

 private:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("headrace-last-cache-" + std::to_string(::getpid()));
};

TEST_F(LastCache, TheHighestLevel) {
  add(5, 0, 1, "5");
  add(5, 1, 1, "5");
  add(5, 2, 2, "4-5");
  add(5, 3, 3, "0-7,64-71");
  EXPECT_EQ(of(5), "0-7,64-71");
  add(6, 0, 1, "6");
  EXPECT_EQ(of(6), "");  // a private cache reveals nothing about other cores
  EXPECT_EQ(of(7), "");  // there is no such CPU
}

TEST(LastCacheOf, ProcessesThatAreBound) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  unsigned first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(last_cache_of(0), last_cache_of_cpu(first, "/sys/devices/system/cpu"));
  EXPECT_EQ(last_cache_of(0), last_cache_of(::getpid()));
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(last_cache_of(0x7ffffff0), "");  // there is no such process
}

}  // namespace
}  // namespace hr
