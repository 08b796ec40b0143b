// The knobs as control variables and the statistics as performance variables of the tool information interface
// (MPI 5.0 section 15.3).
#include <cstring>
#include <vector>

#include "check.hpp"

namespace hr::test {
namespace {

class Tool : public ::testing::Test {
 protected:
  void SetUp() override {
    int provided = 0;
    ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS); }
};

TEST(ToolState, NothingBeforeItsInitialisation) {
  int number = 0;
  EXPECT_EQ(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

TEST_F(Tool, EveryVariableDescribesItself) {
  int number = 0;
  ASSERT_EQ(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
  ASSERT_GT(number, 0);
  for (int i = 0; i < number; ++i) {
    char name[128];
    char description[512];
    int name_length = sizeof name;
    int description_length = sizeof description;
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, nullptr, description, &description_length,
                                  &bind, &scope),
              MPI_SUCCESS);
    EXPECT_EQ(std::strncmp(name, "HEADRACE_", 9), 0) << name;
    EXPECT_EQ(name_length, static_cast<int>(std::strlen(name)) + 1);
    EXPECT_GT(description_length, 1);
    EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
    int index = -1;
    EXPECT_EQ(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    EXPECT_EQ(index, i);
  }
  int index = 0;
  EXPECT_EQ(
      MPI_T_cvar_get_info(number, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
      MPI_T_ERR_INVALID_INDEX);
  EXPECT_EQ(MPI_T_cvar_get_index("HEADRACE_NONSENSE", &index), MPI_T_ERR_INVALID_NAME);
}

TEST_F(Tool, TextsAreCutToTheRoomGiven) {
  char name[10];
  int length = sizeof name;
  ASSERT_EQ(MPI_T_cvar_get_info(0, name, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            MPI_SUCCESS);
  EXPECT_STREQ(name, "HEADRACE_");
  EXPECT_GT(length, static_cast<int>(sizeof name));
}

TEST_F(Tool, ValuesAreRead) {
  int index = 0;
  int count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  ASSERT_EQ(MPI_T_cvar_get_index("HEADRACE_EAGER_BYTES", &index), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count), MPI_SUCCESS);
  EXPECT_EQ(count, 1);
  unsigned long long bytes = 0;
  EXPECT_EQ(MPI_T_cvar_read(handle, &bytes), MPI_SUCCESS);
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(MPI_T_cvar_write(handle, &bytes), MPI_T_ERR_CVAR_SET_NOT_NOW) << "MPI is initialised";
  EXPECT_EQ(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
  EXPECT_EQ(handle, MPI_T_CVAR_HANDLE_NULL);

  ASSERT_EQ(MPI_T_cvar_get_index("HEADRACE_SHM_DIR", &index), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count), MPI_SUCCESS);
  std::string text(static_cast<std::size_t>(count), '\0');
  EXPECT_EQ(MPI_T_cvar_read(handle, text.data()), MPI_SUCCESS);
  EXPECT_EQ(text[0], '/');
  MPI_T_cvar_handle_free(&handle);
}

TEST_F(Tool, OneCategoryHoldsThemAll) {
  int categories = 0;
  int variables = 0;
  int number = 0;
  MPI_T_category_get_num(&categories);
  EXPECT_EQ(categories, 1);
  MPI_T_category_get_info(0, nullptr, nullptr, nullptr, nullptr, &variables, nullptr, nullptr);
  MPI_T_cvar_get_num(&number);
  EXPECT_EQ(variables, number);
}

TEST_F(Tool, EveryPerformanceVariableDescribesItself) {
  int number = 0;
  ASSERT_EQ(MPI_T_pvar_get_num(&number), MPI_SUCCESS);
  ASSERT_GT(number, 0);
  for (int i = 0; i < number; ++i) {
    char name[128], description[512];
    int name_length = sizeof name, description_length = sizeof description;
    int verbosity = 0, of_class = 0, bind = -1, read_only = -1, continuous = -1, atomic = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &of_class, &type, nullptr, description,
                                  &description_length, &bind, &read_only, &continuous, &atomic),
              MPI_SUCCESS);
    EXPECT_EQ(std::strncmp(name, "HEADRACE_", 9), 0) << name;
    EXPECT_GT(description_length, 20) << name;
    EXPECT_EQ(type, MPI_UNSIGNED_LONG_LONG);
    EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
    const bool counter = of_class == MPI_T_PVAR_CLASS_COUNTER;
    EXPECT_TRUE(counter || of_class == MPI_T_PVAR_CLASS_LEVEL || of_class == MPI_T_PVAR_CLASS_HIGHWATERMARK) << name;
    EXPECT_EQ(read_only, counter ? 0 : 1) << name;
    EXPECT_EQ(continuous, counter ? 0 : 1) << name;
    EXPECT_EQ(atomic, counter ? 1 : 0) << name;
    int index = -1;
    EXPECT_EQ(MPI_T_pvar_get_index(name, of_class, &index), MPI_SUCCESS);
    EXPECT_EQ(index, i);
    EXPECT_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &index), MPI_T_ERR_INVALID_NAME);
  }
  EXPECT_EQ(MPI_T_pvar_get_info(number, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                nullptr, nullptr, nullptr),
            MPI_T_ERR_INVALID_INDEX);
  int listed = 0;
  MPI_T_category_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, &listed, nullptr);
  EXPECT_EQ(listed, number);
  std::vector<int> indices(static_cast<std::size_t>(number), -1);
  EXPECT_EQ(MPI_T_category_get_pvars(0, number, indices.data()), MPI_SUCCESS);
  EXPECT_EQ(indices.back(), number - 1);
}

// A performance variable of a class, in its own session.
class Performance : public Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    ASSERT_EQ(MPI_T_pvar_session_create(&session_), MPI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(MPI_T_pvar_session_free(&session_), MPI_SUCCESS);
    EXPECT_EQ(session_, MPI_T_PVAR_SESSION_NULL);
    Tool::TearDown();
  }
  MPI_T_pvar_handle handle(const char* name, int of_class) {
    int index = -1, count = 0;
    EXPECT_EQ(MPI_T_pvar_get_index(name, of_class, &index), MPI_SUCCESS);
    MPI_T_pvar_handle made = MPI_T_PVAR_HANDLE_NULL;
    EXPECT_EQ(MPI_T_pvar_handle_alloc(session_, index, nullptr, &made, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    return made;
  }
  unsigned long long read(MPI_T_pvar_handle handle) {
    unsigned long long value = ~0ULL;
    EXPECT_EQ(MPI_T_pvar_read(session_, handle, &value), MPI_SUCCESS);
    return value;
  }
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
};

TEST_F(Performance, ALevelIsThereToBeRead) {
  MPI_T_pvar_handle level = handle("HEADRACE_DEVICE_IPC_MAPPINGS", MPI_T_PVAR_CLASS_LEVEL);
  EXPECT_EQ(read(level), 0U);
  unsigned long long value = 5;
  EXPECT_EQ(MPI_T_pvar_start(session_, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(MPI_T_pvar_stop(session_, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(MPI_T_pvar_reset(session_, level), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(MPI_T_pvar_write(session_, level, &value), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(MPI_T_pvar_readreset(session_, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
  EXPECT_EQ(MPI_T_pvar_start(session_, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS) << "no refusal for all of them";
  EXPECT_EQ(MPI_T_pvar_read(session_, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
}

TEST_F(Performance, ACounterIsWrittenAndReset) {
  MPI_T_pvar_handle counter = handle("HEADRACE_COLL_DEVICE", MPI_T_PVAR_CLASS_COUNTER);
  EXPECT_EQ(MPI_T_pvar_start(session_, counter), MPI_SUCCESS);
  EXPECT_EQ(read(counter), 0U);
  unsigned long long value = 42;
  EXPECT_EQ(MPI_T_pvar_write(session_, counter, &value), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_stop(session_, counter), MPI_SUCCESS);
  EXPECT_EQ(read(counter), 42U);
  value = 0;
  EXPECT_EQ(MPI_T_pvar_readreset(session_, counter, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 42U);
  EXPECT_EQ(read(counter), 0U);
  EXPECT_EQ(MPI_T_pvar_handle_free(session_, &counter), MPI_SUCCESS);
  EXPECT_EQ(counter, MPI_T_PVAR_HANDLE_NULL);
}

TEST_F(Performance, HandlesBelongToTheirSession) {
  MPI_T_pvar_handle counter = handle("HEADRACE_DEVICE_IPC_HITS", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL;
  unsigned long long value = 0;
  EXPECT_EQ(MPI_T_pvar_read(other, counter, &value), MPI_T_ERR_INVALID_SESSION);
  ASSERT_EQ(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_read(other, counter, &value), MPI_T_ERR_INVALID_HANDLE);
  EXPECT_EQ(MPI_T_pvar_handle_free(other, &counter), MPI_T_ERR_INVALID_HANDLE);
  MPI_T_pvar_session freed = other;
  EXPECT_EQ(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_session_free(&freed), MPI_T_ERR_INVALID_SESSION);
  EXPECT_EQ(MPI_T_pvar_handle_alloc(freed, 0, nullptr, &counter, nullptr), MPI_T_ERR_INVALID_SESSION);
  EXPECT_EQ(MPI_T_pvar_handle_alloc(session_, -1, nullptr, &counter, nullptr), MPI_T_ERR_INVALID_INDEX);
}

}  // namespace
}  // namespace hr::test
