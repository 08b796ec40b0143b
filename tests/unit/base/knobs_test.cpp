#include "base/knobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "test_environment.hpp"

namespace hr {
namespace {

std::size_t index_of(std::string_view name) {
  const auto records = knob_records();
  for (std::size_t index = 0; index < records.size(); ++index) {
    if (records[index].name == name) return index;
  }
  ADD_FAILURE() << "no knob " << name;
  return 0;
}

TEST(Knobs, ValuesComeFromDefaultFileAndEnvironment) {
  EXPECT_EQ(knobs().shm_dir, "/dev/shm");
  EXPECT_EQ(knob_origin(index_of("shm_dir")), KnobOrigin::kDefault);

  EXPECT_EQ(knobs().eager_bytes, 32u << 10) << "from the file";
  EXPECT_EQ(knob_origin(index_of("eager_bytes")), KnobOrigin::kFile);

  EXPECT_EQ(knobs().verbose, 2) << "the environment wins over the file";
  EXPECT_EQ(knob_origin(index_of("verbose")), KnobOrigin::kEnvironment);
}

TEST(Knobs, NamesOfEarlierVersionsAreTaken) {
  EXPECT_EQ(knobs().shm_exchange_buffers, 3) << "HEADRACE_SHM_SHUTTLES";
  EXPECT_EQ(knob_origin(index_of("shm_exchange_buffers")), KnobOrigin::kEnvironment);
  EXPECT_EQ(knobs().device_resident_copy_bytes, 4096u) << "cuda_attend_bytes in the file";
  EXPECT_EQ(knob_origin(index_of("device_resident_copy_bytes")), KnobOrigin::kFile);
  EXPECT_EQ(knobs().device_batch_bytes, 8192u) << "HEADRACE_CUDA_BATCH_BYTES";
  EXPECT_EQ(knobs().device_ipc, DeviceIpcChoice::kOff) << "HEADRACE_CUDA_IPC";
  EXPECT_EQ(knobs().shm_nontemporal_stores, ShmNontemporalStoresChoice::kOff) << "the present name wins";
}

TEST(Knobs, BadTextIsNamedAndTheDefaultStays) {
  EXPECT_EQ(knobs().spin_rounds, 0) << "HEADRACE_SPIN_ROUNDS was not a number";
  EXPECT_EQ(knob_origin(index_of("spin_rounds")), KnobOrigin::kDefault);
}

TEST(Knobs, RangeIsKeptAndTheDefaultIsAlwaysAllowed) {
  EXPECT_FALSE(set_knob("verbose", "4"));
  EXPECT_FALSE(set_knob("verbose", "-1"));
  EXPECT_FALSE(set_knob("shm_ring_bytes", "1"));
  EXPECT_TRUE(set_knob("shm_ring_bytes", "64K"));
  EXPECT_EQ(knobs().shm_ring_bytes, 65536u);
  EXPECT_EQ(knob_origin(index_of("shm_ring_bytes")), KnobOrigin::kTool);
  EXPECT_TRUE(set_knob("shm_ring_bytes", "0"));
}

TEST(Knobs, SizesTakeUnits) {
  for (const auto& [text, bytes] : {std::pair{"1", std::size_t{1}},
                                    {"2k", std::size_t{2048}},
                                    {"3M", std::size_t{3} << 20},
                                    {"1GiB", std::size_t{1} << 30},
                                    {"1GB", std::size_t{1} << 30},
                                    {" 7 ", std::size_t{7}},
                                    {"5B", std::size_t{5}}}) {
    EXPECT_TRUE(set_knob("single_copy_bytes", text)) << text;
    EXPECT_EQ(knobs().single_copy_bytes, bytes) << text;
  }
  for (const char* text : {"", "x", "1X", "1KX", "-1", "K", "1.5M", "99999999999999999999", "18446744073709551615K"}) {
    EXPECT_FALSE(set_knob("single_copy_bytes", text)) << text;
  }
}

TEST(Knobs, EnumsTakeTheirValuesOnly) {
  EXPECT_TRUE(set_knob("shm_single_copy", "off"));
  EXPECT_EQ(knobs().shm_single_copy, ShmSingleCopyChoice::kOff);
  EXPECT_EQ(knob_text(index_of("shm_single_copy")), "off");
  EXPECT_FALSE(set_knob("shm_single_copy", "of"));
  EXPECT_FALSE(set_knob("shm_single_copy", "auto,on"));
  EXPECT_TRUE(set_knob("shm_single_copy", "auto"));
}

TEST(Knobs, ThoseOfTheJobAreTakenFromProcessZero) {
  for (const char* of_environment : {"shm_exchange_buffers", "shm_nontemporal_stores"}) {
    ASSERT_TRUE(set_knob(of_environment, knob_records()[index_of(of_environment)].default_text));
  }
  ASSERT_TRUE(set_knob("coll_force", "bcast:linear"));
  ASSERT_TRUE(set_knob("coll_shared_after", "7"));
  const auto own = job_knobs();
  const auto names = [&](std::string_view name) {
    return std::any_of(own.begin(), own.end(), [&](const JobKnob& each) { return each.name == name; });
  };
  EXPECT_TRUE(names("coll_force"));
  EXPECT_FALSE(names("shm_dir")) << "it has its default";
  EXPECT_FALSE(names("eager_bytes")) << "the process's own affair";

  const std::vector<JobKnob> told = {
      {"coll_shared_after", "9"}, {"device_pipeline_chunks", "2"}, {"of_another_version", "1"}, {"eager_bytes", "1"}};
  const auto differed = take_job_knobs(told);
  EXPECT_EQ(knobs().coll_force, "") << "process 0 has the default";
  EXPECT_EQ(knobs().coll_shared_after, 9);
  EXPECT_EQ(knobs().device_pipeline_chunks, 2);
  EXPECT_NE(knobs().eager_bytes, 1U);
  EXPECT_EQ(knob_origin(index_of("device_pipeline_chunks")), KnobOrigin::kJob);
  ASSERT_EQ(differed.size(), 2U) << "device_pipeline_chunks was not set here";
  EXPECT_EQ(differed[0].name, "coll_force");
  EXPECT_EQ(differed[0].text, "bcast:linear");
  EXPECT_TRUE(take_job_knobs(told).empty());
  EXPECT_TRUE(take_job_knobs({}).empty());
  EXPECT_EQ(knobs().coll_shared_after, 3) << "the default again";
}

TEST(Knobs, UnknownNameIsRefused) { EXPECT_FALSE(set_knob("no_such_knob", "1")); }

TEST(Knobs, EveryDefaultTextIsItsOwnValue) {
  for (const KnobRecord& record : knob_records()) {
    EXPECT_TRUE(set_knob(record.name, record.default_text)) << record.name;
    EXPECT_EQ(knob_text(index_of(record.name)), record.default_text);
  }
}

}  // namespace

// The knobs are read once per process, so the file and the variables are set before any test runs.
void prepare_knob_environment() {
  const std::string path = ::testing::TempDir() + "headrace_knobs_test.conf";
  std::ofstream(path)
      << "# comment\n\neager_bytes = 32K   # why\nverbose=1\ncuda_attend_bytes = 4K\nno_such = 3\nnonsense\n";
  ::setenv("HEADRACE_CONFIG_FILE", path.c_str(), 1);
  ::setenv("HEADRACE_VERBOSE", "2", 1);
  ::setenv("HEADRACE_SPIN_ROUNDS", "many", 1);
  ::setenv("HEADRACE_CUDA_BATCH_BYTES", "8K", 1);
  ::setenv("HEADRACE_CUDA_IPC", "off", 1);
  ::setenv("HEADRACE_SHM_SHUTTLES", "3", 1);
  ::setenv("HEADRACE_SHM_PAST_CACHES", "on", 1);
  ::setenv("HEADRACE_SHM_NONTEMPORAL_STORES", "off", 1);
}

}  // namespace hr
