// Calls before MPI_Init and after MPI_Finalize, and errors that end a program. Each test runs in its own process.
#include <mpi.h>

#include <cstdlib>

#include "check.hpp"

namespace hr::test {
namespace {

using ::testing::ExitedWithCode;

class Lifetime : public ::testing::Test {
 protected:
  // Starts a new process for each statement, without the preceding tests.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Lifetime, BeforeInitialisation) {
  EXPECT_EXIT(MPI_Barrier(MPI_COMM_WORLD), ExitedWithCode(1),
              "\\[headrace\\] MPI_Barrier was called before MPI_Init \\(or MPI_Session_init\\)");
}

TEST_F(Lifetime, AfterFinalisation) {
  EXPECT_EXIT(
      {
        MPI_Init(nullptr, nullptr);
        MPI_Finalize();
        MPI_Barrier(MPI_COMM_WORLD);
      },
      ExitedWithCode(1), "\\[headrace 0/1\\] MPI_Barrier was called after MPI_Finalize");
}

TEST_F(Lifetime, QuestionsAtAnyTime) {
  EXPECT_EXIT(
      {
        int flag = 1;
        int version = 0;
        int subversion = 0;
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Info info = MPI_INFO_NULL;
        bool good = MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0;
        good = good && MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0;
        good = good && MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == 5 && subversion == 0;
        good = good && MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0;
        good = good && MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "key", "value") == MPI_SUCCESS;
        good = good && MPI_Info_free(&info) == MPI_SUCCESS;
        good = good && MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS;
        MPI_Init(nullptr, nullptr);
        good = good && MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1;
        MPI_Finalize();
        good = good && MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1;
        good = good && MPI_Finalized(&flag) == MPI_SUCCESS && flag == 1;
        std::exit(good ? 0 : 9);
      },
      ExitedWithCode(0), "");
}

TEST_F(Lifetime, InitialisedTwice) {
  EXPECT_EXIT(
      {
        MPI_Init(nullptr, nullptr);
        MPI_Init(nullptr, nullptr);
      },
      ExitedWithCode(MPI_ERR_OTHER), "MPI_Init: MPI_ERR_OTHER: MPI was initialised before");
}

TEST_F(Lifetime, ErrorsAreFatalByDefault) {
  EXPECT_EXIT(
      {
        MPI_Init(nullptr, nullptr);
        int value = 0;
        MPI_Send(&value, 1, MPI_INT, 9, 0, MPI_COMM_WORLD);
      },
      ExitedWithCode(MPI_ERR_RANK), "\\[headrace 0/1\\] MPI_Send: MPI_ERR_RANK: dest is 9");
}

TEST_F(Lifetime, AbortGivesItsCode) {
  EXPECT_EXIT(
      {
        MPI_Init(nullptr, nullptr);
        MPI_Abort(MPI_COMM_WORLD, 7);
      },
      ExitedWithCode(7), "MPI_Abort");
}

TEST_F(Lifetime, SessionsWithoutTheWorld) {
  EXPECT_EXIT(
      {
        bool good = true;
        for (int round = 0; round < 3; ++round) {
          MPI_Session session = MPI_SESSION_NULL;
          MPI_Group group = MPI_GROUP_NULL;
          MPI_Comm comm = MPI_COMM_NULL;
          int size = 0;
          good = good && MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS;
          good = good && MPI_Group_from_session_pset(session, "mpi://SELF", &group) == MPI_SUCCESS;
          good =
              good && MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS;
          good = good && MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == 1;
          good = good && MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Group_free(&group) == MPI_SUCCESS;
          good = good && MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL;
        }
        int flag = 1;
        good = good && MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0;
        MPI_Init(nullptr, nullptr);
        MPI_Finalize();
        std::exit(good ? 0 : 9);
      },
      ExitedWithCode(0), "");
}

TEST_F(Lifetime, ASessionOutlivesTheWorld) {
  EXPECT_EXIT(
      {
        MPI_Session session = MPI_SESSION_NULL;
        MPI_Init(nullptr, nullptr);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Finalize();
        int sets = 0;
        const bool good = MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets) == MPI_SUCCESS && sets >= 2;
        MPI_Session_finalize(&session);
        std::exit(good ? 0 : 9);
      },
      ExitedWithCode(0), "");
}

TEST_F(Lifetime, ThreadMultipleIsGranted) {
  EXPECT_EXIT(
      {
        int provided = 0;
        int asked = 0;
        int main_thread = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
        MPI_Query_thread(&asked);
        MPI_Is_thread_main(&main_thread);
        const bool good = provided == MPI_THREAD_MULTIPLE && asked == provided && main_thread == 1;
        MPI_Finalize();
        std::exit(good ? 0 : 9);
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hr::test
