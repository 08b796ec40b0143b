#include "base/counter_details.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/counter_parts.hpp"

namespace hr::counters {
namespace {

TEST(CounterDetails, ClassesArePowersOfTwo) {
  constexpr std::size_t kRow = kDurationRows - 1;
  const auto& counts = details.durations[kRow];
  for (const Value length : {0, 1, 63}) count_duration(kRow, length, 1);
  for (const Value length : {64, 127}) count_duration(kRow, length, 10);
  count_duration(kRow, 128, 1024);
  count_duration(kRow, Value{1} << 36, 3);  // the first length of the last class
  count_duration(kRow, ~Value{0}, 4);
  EXPECT_EQ(counts[0], 3U);
  EXPECT_EQ(counts[1], 20U);
  EXPECT_EQ(counts[2], 1024U);
  EXPECT_EQ(counts[kDurations - 2], 0U);
  EXPECT_EQ(counts[kDurations - 1], 7U);
}

TEST(CounterDetails, FunctionsOfChannelsHaveTheirPlacesAndOthersWhatIsLeft) {
  constexpr std::uint16_t kPlacesOf[] = {0, 5, 9};
  name_durations(kPlacesOf);
  EXPECT_EQ(duration_row(5), 1U);
  EXPECT_EQ(duration_row(9), 2U);
  EXPECT_EQ(details.functions[2], 9U);
  EXPECT_EQ(duration_row(7), kPlaces);
  EXPECT_EQ(duration_row(7), kPlaces);
  EXPECT_EQ(details.functions[kPlaces], 7U);
  for (std::size_t i = 1; i < kDurationRows - kPlaces; ++i) EXPECT_EQ(duration_row(100 + i), kPlaces + i);
  EXPECT_EQ(duration_row(400), 0U);  // shares a row
  EXPECT_EQ(duration_row(101), kPlaces + 1);
}

TEST(CounterDetails, TheFirstReportsThatDifferAreKept) {
  const std::string same = "leak: 1 MPI_Comm", longest(2000, 'x');
  keep_report(same);
  keep_report(longest);
  keep_report(same);
  for (int i = 0; i < 20; ++i) keep_report("report " + std::to_string(i));
  keep_report(same);
  keep_report(longest);
  EXPECT_EQ(details.reports, 25U);
  EXPECT_EQ(details.kept, kReports);
  EXPECT_EQ(std::string_view(details.report[0].text), same);
  EXPECT_EQ(details.report[0].times, 3U);
  EXPECT_GT(details.report[0].time, 0U);
  EXPECT_EQ(std::string_view(details.report[1].text), longest.substr(0, sizeof Report::text - 1));
  EXPECT_EQ(details.report[1].times, 2U);
  EXPECT_EQ(std::string_view(details.report[kReports - 1].text), "report 13");
}

}  // namespace
}  // namespace hr::counters
