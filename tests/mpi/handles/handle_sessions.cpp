// Error handlers of sessions (MPI 5.0 section 9.3.4): created, set, queried, and called with the session and the code.
#include "../common/check.hpp"

namespace {

struct Called {
  int times = 0;
  MPI_Session session = MPI_SESSION_NULL;
  int code = -1;
};
Called first, second;

void note(Called& called, const MPI_Session* session, const int* code) {
  ++called.times;
  called.session = *session;
  called.code = *code;
}
void to_first(MPI_Session* session, int* code, ...) { note(first, session, code); }
void to_second(MPI_Session* session, int* code, ...) { note(second, session, code); }

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  MPI_Errhandler one = MPI_ERRHANDLER_NULL, two = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Session_create_errhandler(to_first, &one));
  CHECK_OK(MPI_Session_create_errhandler(to_second, &two));
  CHECK(one != MPI_ERRHANDLER_NULL);
  CHECK(two != MPI_ERRHANDLER_NULL);
  CHECK(one != two);

  MPI_Session session = MPI_SESSION_NULL, other = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, one, &session));
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == one);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Session_get_errhandler(other, &found));
  CHECK(found == MPI_ERRORS_RETURN);

  CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  CHECK_EQ(first.times, 1);
  CHECK(first.session == session);
  CHECK_EQ(first.code, MPI_ERR_OTHER);
  CHECK_OK(MPI_Session_call_errhandler(other, MPI_ERR_OTHER));
  CHECK_EQ(first.times, 1);

  // The session keeps the freed handler until another one is set.
  CHECK_OK(MPI_Errhandler_free(&one));
  CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_ARG));
  CHECK_EQ(first.times, 2);
  CHECK_EQ(first.code, MPI_ERR_ARG);
  CHECK_OK(MPI_Session_set_errhandler(session, two));
  CHECK_OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == two);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&two));
  CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_COUNT));
  CHECK_EQ(first.times, 2);
  CHECK_EQ(second.times, 1);
  CHECK(second.session == session);
  CHECK_EQ(second.code, MPI_ERR_COUNT);

  // An error of the session itself invokes the same handler.
  if (check::headrace()) {
    MPI_Group group = MPI_GROUP_NULL;
    CHECK(MPI_Group_from_session_pset(session, "nobody://knows", &group) != MPI_SUCCESS);
    CHECK_EQ(second.times, 2);
  }

  CHECK_OK(MPI_Session_finalize(&other));
  CHECK_OK(MPI_Session_finalize(&session));
}
