// The knobs as control variables of the tool information interface (MPI 5.0 section 15.3).
#include <cstring>

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

TEST_F(Tool, NoPerformanceVariablesYet) {
  int number = -1;
  EXPECT_EQ(MPI_T_pvar_get_num(&number), MPI_SUCCESS);
  EXPECT_EQ(number, 0);
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  EXPECT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

}  // namespace
}  // namespace hr::test
