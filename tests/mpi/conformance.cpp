// Cases of a conformance suite that this library once failed. One case per run, named by the first argument;
// "world_handler" leaves MPI_COMM_SELF's error handler unchanged.
#include <algorithm>
#include <cctype>
#include <climits>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

// The handlers only count their calls.
int parent_calls = 0;
int self_calls = 0;
void on_parent(MPI_Comm*, int*, ...) { ++parent_calls; }
void on_self(MPI_Comm*, int*, ...) { ++self_calls; }

MPI_Errhandler handler(MPI_Comm_errhandler_function* function) {
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Comm_create_errhandler(function, &made));
  return made;
}

int class_of(int code) {
  int error_class = -1;
  CHECK_OK(MPI_Error_class(code, &error_class));
  return error_class;
}

// Reduces types that benchmark suites use with default options: small integers under any name, with the signedness and
// the overflow of their C types. Checks the result of all ranks, and that of MPI_Reduce_local.
template <class T>
void reduce_small(MPI_Datatype type, MPI_Op op, const std::function<T(T, T)>& expected) {
  int rank = -1, size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const auto input = [](int of_rank, std::size_t i) {
    return static_cast<T>(static_cast<int>(i) % 7 - 3 + 100 * of_rank);
  };
  for (const int count : {1, 7, 64, 5000}) {
    std::vector<T> in(static_cast<std::size_t>(count)), all(in.size(), T('x')), local(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = input(rank, i);
    CHECK_OK(MPI_Allreduce(in.data(), all.data(), count, type, op, MPI_COMM_WORLD));
    for (std::size_t i = 0; i < all.size(); ++i) {
      T wanted = input(0, i);
      for (int other = 1; other < size; ++other) wanted = expected(wanted, input(other, i));
      CHECK_EQ(int(all[i]), int(wanted));
    }
    for (std::size_t i = 0; i < local.size(); ++i) local[i] = static_cast<T>(i % 5 - 2);
    const std::vector<T> before = local;
    CHECK_OK(MPI_Reduce_local(in.data(), local.data(), count, type, op));
    for (std::size_t i = 0; i < local.size(); ++i) CHECK_EQ(int(local[i]), int(expected(in[i], before[i])));
  }
}

template <class T>
void truths_of(MPI_Datatype type) {
  reduce_small<T>(type, MPI_LAND, [](T a, T b) { return static_cast<T>(a && b); });
  reduce_small<T>(type, MPI_LOR, [](T a, T b) { return static_cast<T>(a || b); });
  reduce_small<T>(type, MPI_LXOR, [](T a, T b) { return static_cast<T>(!a != !b); });
}

void is_refused(MPI_Datatype type, std::initializer_list<MPI_Op> ops) {
  for (MPI_Op op : ops) {
    char in[32] = {}, out[32] = {};
    CHECK_EQ(class_of(MPI_Reduce_local(in, out, 1, type, op)), MPI_ERR_OP);
  }
}

template <class T>
void all_of(MPI_Datatype type) {
  reduce_small<T>(type, MPI_SUM, [](T a, T b) { return static_cast<T>(a + b); });
  reduce_small<T>(type, MPI_PROD, [](T a, T b) { return static_cast<T>(a * b); });
  reduce_small<T>(type, MPI_MAX, [](T a, T b) { return a > b ? a : b; });
  reduce_small<T>(type, MPI_MIN, [](T a, T b) { return a < b ? a : b; });
  reduce_small<T>(type, MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); });
  reduce_small<T>(type, MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); });
  reduce_small<T>(type, MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); });
  truths_of<T>(type);
  is_refused(type, {MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP});
}

void chars() {
  all_of<char>(MPI_CHAR);
  all_of<signed char>(MPI_SIGNED_CHAR);
  all_of<unsigned char>(MPI_UNSIGNED_CHAR);
  all_of<unsigned char>(MPI_BYTE);
  all_of<unsigned char>(MPI_CHARACTER);
  truths_of<unsigned char>(MPI_C_BOOL);
  truths_of<unsigned char>(MPI_CXX_BOOL);
  // Combinations that no library allows.
  const auto numbers = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR};
  for (MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL, MPI_WCHAR, MPI_PACKED}) is_refused(type, numbers);
  for (MPI_Datatype type : {MPI_WCHAR, MPI_PACKED, MPI_FLOAT}) is_refused(type, {MPI_LAND, MPI_LOR, MPI_LXOR});
}

void chars_refused() {
  for (MPI_Datatype type : {MPI_CHAR, MPI_BYTE, MPI_CHARACTER}) is_refused(type, {MPI_SUM, MPI_MAX, MPI_LAND});
  for (MPI_Datatype type : {MPI_CHAR, MPI_CHARACTER}) is_refused(type, {MPI_BOR});
  unsigned char in = 5, out = 3;
  CHECK_OK(MPI_Reduce_local(&in, &out, 1, MPI_BYTE, MPI_BOR));
  CHECK_EQ(out, 7);
}

// Starts a non-blocking flush while the buffered message still waits for its receive.
void iflush() {
  constexpr int kBytes = 100'000;
  std::vector<char> buffer(kBytes + MPI_BSEND_OVERHEAD);
  std::vector<char> data(kBytes, 'a');
  std::vector<char> received(kBytes, 'x');
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm of_session = MPI_COMM_NULL;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "iflush", MPI_INFO_NULL, MPI_ERRORS_RETURN, &of_session));
  for (const int form : {0, 1, 2}) {
    MPI_Comm comm = form == 2 ? of_session : MPI_COMM_SELF;
    void* address = nullptr;
    int size = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == 0) CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
    if (form == 1) CHECK_OK(MPI_Comm_attach_buffer(MPI_COMM_SELF, buffer.data(), static_cast<int>(buffer.size())));
    if (form == 2) CHECK_OK(MPI_Session_attach_buffer(session, buffer.data(), static_cast<int>(buffer.size())));
    CHECK_OK(MPI_Bsend(data.data(), kBytes, MPI_CHAR, 0, 5, comm));
    if (form == 2) CHECK_OK(MPI_Session_iflush_buffer(session, &request));
    if (form == 0) CHECK_OK(MPI_Buffer_iflush(&request));
    if (form == 1) CHECK_OK(MPI_Comm_iflush_buffer(MPI_COMM_SELF, &request));
    CHECK_OK(MPI_Recv(received.data(), kBytes, MPI_CHAR, 0, 5, comm, MPI_STATUS_IGNORE));
    CHECK(received == data);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (form == 0) CHECK_OK(MPI_Buffer_detach(&address, &size));
    if (form == 1) CHECK_OK(MPI_Comm_detach_buffer(MPI_COMM_SELF, &address, &size));
    if (form == 2) CHECK_OK(MPI_Session_detach_buffer(session, &address, &size));
    CHECK(address == buffer.data());
  }
  CHECK_OK(MPI_Comm_free(&of_session));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Session_finalize(&session));
}

// Attributes of a freed keyval stay readable, and can be deleted.
void freed_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  int value = 7;
  void* found = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr));
  const int number = keyval;
  CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value));
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_SELF, number, &found, &flag));
  CHECK_EQ(flag, 1);
  CHECK(found == &value);
  CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, number));
  CHECK_EQ(class_of(MPI_Comm_get_attr(MPI_COMM_SELF, number, &found, &flag)), MPI_ERR_KEYVAL);
  CHECK_EQ(class_of(MPI_Comm_delete_attr(MPI_COMM_SELF, number)), MPI_ERR_KEYVAL);

  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr));
  const int of_type = keyval;
  CHECK_OK(MPI_Type_set_attr(MPI_INT, keyval, &value));
  CHECK_OK(MPI_Type_free_keyval(&keyval));
  CHECK_OK(MPI_Type_get_attr(MPI_INT, of_type, &found, &flag));
  CHECK_EQ(flag, 1);
  CHECK_OK(MPI_Type_delete_attr(MPI_INT, of_type));
  CHECK_EQ(class_of(MPI_Type_delete_attr(MPI_INT, of_type)), MPI_ERR_KEYVAL);
}

// A truncation in a matched receive is an error of the message's communicator.
void mrecv_handler() {
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  MPI_Errhandler parent = handler(&on_parent);
  MPI_Errhandler self = handler(&on_self);
  CHECK_OK(MPI_Comm_set_errhandler(comm, parent));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
  int data[4] = {1, 2, 3, 4};
  int one = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  CHECK_OK(MPI_Isend(data, 4, MPI_INT, 0, 3, comm, &request));
  CHECK_OK(MPI_Mprobe(0, 3, comm, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(class_of(MPI_Mrecv(&one, 1, MPI_INT, &message, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
  CHECK_EQ(parent_calls, 1);
  CHECK_EQ(self_calls, 0);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&parent));
  CHECK_OK(MPI_Errhandler_free(&self));
  CHECK_OK(MPI_Comm_free(&comm));
}

// A failure invokes the error handler specified for the new communicator.
void from_group_handler() {
  MPI_Errhandler given = handler(&on_parent);
  MPI_Errhandler self = handler(&on_self);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_group(MPI_COMM_SELF, &group));
  const std::string too_long(MPI_MAX_STRINGTAG_LEN + 1, 't');
  CHECK(MPI_Comm_create_from_group(group, too_long.c_str(), MPI_INFO_NULL, given, &comm) != MPI_SUCCESS);
  CHECK_EQ(parent_calls, 1);
  CHECK(MPI_Intercomm_create_from_groups(group, 0, group, 0, too_long.c_str(), MPI_INFO_NULL, given, &comm) !=
        MPI_SUCCESS);
  CHECK_EQ(parent_calls, 2);
  CHECK_EQ(self_calls, 0);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Errhandler_free(&given));
  CHECK_OK(MPI_Errhandler_free(&self));
}

void psets() {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Group group = MPI_GROUP_EMPTY;
  CHECK_EQ(class_of(MPI_Group_from_session_pset(session, "mpi://NONE", &group)), MPI_ERR_ARG);
  CHECK(group == MPI_GROUP_NULL);
  for (const char* name : {"mpi://world", "MPI://World", "mpi://self"}) {
    CHECK_OK(MPI_Group_from_session_pset(session, name, &group));
    CHECK_OK(MPI_Group_free(&group));
  }
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Session_get_pset_info(session, "Mpi://Self", &info));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_pset_name", "MPI://world"));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm));
  CHECK(comm != MPI_COMM_NULL);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Info_free(&info));
  int length = 5;
  CHECK_EQ(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr)), MPI_ERR_ARG);
  CHECK_OK(MPI_Session_finalize(&session));
}

// True if a Bsend has left its text in the buffer that it used.
bool holds(const std::vector<char>& buffer, const std::string& text) {
  return std::search(buffer.begin(), buffer.end(), text.begin(), text.end()) != buffer.end();
}

// Sends a message to this process and receives it; the message must be in `used` and not in `others`.
void bsend_uses(MPI_Comm comm, const std::vector<char>& used, const std::vector<const std::vector<char>*>& others) {
  static int number = 0;
  const std::string text = "message " + std::to_string(++number) + " of a buffered send";
  std::string received(text.size(), 'x');
  const int length = static_cast<int>(text.size());
  CHECK_OK(MPI_Bsend(text.data(), length, MPI_CHAR, 0, 5, comm));
  CHECK(holds(used, text));
  for (const std::vector<char>* other : others) CHECK(!holds(*other, text));
  CHECK_OK(MPI_Recv(received.data(), length, MPI_CHAR, 0, 5, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(received, text);
}

// A communicator's own buffer has precedence, then that of the session from which it was derived, directly or not, then
// that of the process.
void session_buffer() {
  constexpr int kBytes = 1000 + MPI_BSEND_OVERHEAD;
  std::vector<char> of_session(kBytes), of_comm(kBytes), of_process(kBytes);
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Session_attach_buffer(session, of_session.data(), kBytes));
  MPI_Group set = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &set));
  const int zero = 0;
  CHECK_OK(MPI_Group_incl(set, 1, &zero, &group));
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL, third = MPI_COMM_NULL, fourth = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_create_from_group(group, "session_buffer", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
  CHECK_OK(MPI_Comm_dup(first, &second));
  CHECK_OK(MPI_Comm_split(second, 0, 0, &third));
  const int one = 1;
  CHECK_OK(MPI_Cart_create(third, 1, &one, &zero, 0, &fourth));
  for (MPI_Comm comm : {first, second, third, fourth}) bsend_uses(comm, of_session, {});
  CHECK_EQ(class_of(MPI_Bsend(&zero, 1, MPI_INT, 0, 5, MPI_COMM_SELF)), MPI_ERR_BUFFER);

  CHECK_OK(MPI_Buffer_attach(of_process.data(), kBytes));
  bsend_uses(first, of_session, {&of_process});
  bsend_uses(MPI_COMM_SELF, of_process, {&of_session});
  CHECK_OK(MPI_Comm_attach_buffer(first, of_comm.data(), kBytes));
  bsend_uses(first, of_comm, {&of_session, &of_process});
  bsend_uses(second, of_session, {&of_comm, &of_process});
  void* address = nullptr;
  int size = 0;
  CHECK_OK(MPI_Comm_detach_buffer(first, &address, &size));
  CHECK(address == of_comm.data());
  CHECK_EQ(size, kBytes);
  CHECK_OK(MPI_Session_detach_buffer(session, &address, &size));
  CHECK(address == of_session.data());
  bsend_uses(first, of_process, {&of_session, &of_comm});
  CHECK_OK(MPI_Buffer_detach(&address, &size));
  for (MPI_Comm* comm : {&first, &second, &third, &fourth}) CHECK_OK(MPI_Comm_free(comm));
  CHECK_OK(MPI_Group_free(&set));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Session_finalize(&session));
}

// Errors of a pending duplication invoke the communicator's handler; the new communicator has the same handler.
void idup_handler() {
  MPI_Errhandler parent = handler(&on_parent);
  MPI_Errhandler self = handler(&on_self);
  MPI_Comm comm = MPI_COMM_NULL, made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, parent));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
  CHECK_OK(MPI_Comm_idup(comm, &made, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(class_of(MPI_Send(&request, -1, MPI_INT, 0, 0, made)), MPI_ERR_COUNT);
  CHECK_EQ(parent_calls, 1);
  CHECK_OK(MPI_Comm_free(&made));

  // Duplicates until no context is left.
  std::vector<MPI_Comm> alive;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    CHECK_OK(MPI_Comm_idup(comm, &made, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) alive.push_back(made);
  }
  CHECK_EQ(class_of(code), MPI_ERR_OTHER);
  CHECK_EQ(parent_calls, 2);
  CHECK_EQ(self_calls, 0);
  for (MPI_Comm& each : alive) CHECK_OK(MPI_Comm_free(&each));
  CHECK_OK(MPI_Comm_dup(comm, &made));
  CHECK_OK(MPI_Comm_free(&made));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&parent));
  CHECK_OK(MPI_Errhandler_free(&self));
}

// Two ranks hold 32,768 communicators each, with different contexts: some contexts remain for a communicator of both.
void contexts() {
  constexpr std::size_t kHeld = 32'768;
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  std::vector<MPI_Comm> held(2 * kHeld - 3, MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  for (std::size_t i = 0; i < (rank == 0 ? kHeld - 3 : held.size()); ++i) {
    CHECK_OK(MPI_Comm_idup(MPI_COMM_SELF, &held[i], &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  for (std::size_t i = 0; rank == 1 && i < kHeld - 3; ++i) CHECK_OK(MPI_Comm_free(&held[i]));
  MPI_Comm both = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &both, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int sum = 0;
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both));
  CHECK_EQ(sum, 1);
  CHECK_OK(MPI_Comm_free(&both));
  for (MPI_Comm& each : held) {
    if (each != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&each));
  }
}

// Creates more communicators than there are contexts, and frees them in several orders: each context is reused.
void contexts_again() {
  MPI_Comm alive[3];
  MPI_Request requests[2];
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &alive[0]));
  for (int i = 0; i < 30'000; ++i) {
    // The parent is freed while its duplicates are pending; these are freed in either order.
    CHECK_OK(MPI_Comm_idup(alive[0], &alive[1], &requests[0]));
    CHECK_OK(MPI_Comm_idup(alive[0], &alive[2], &requests[1]));
    CHECK_OK(MPI_Comm_free(&alive[0]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Comm_free(&alive[1 + i % 2]));
    alive[0] = alive[2 - i % 2];
  }
  CHECK_OK(MPI_Comm_free(&alive[0]));
}

// Arguments that are significant only at a root or leader may have any value elsewhere.
void root_only() {
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const bool root = rank == 0;
  int garbage = 0;
  const auto info = root ? MPI_INFO_NULL : reinterpret_cast<MPI_Info>(&garbage);
  MPI_Comm made = MPI_COMM_NULL;
  const auto unwanted = [](int code) { return class_of(code) == MPI_ERR_ARG || class_of(code) == MPI_ERR_INFO; };
  char command[] = "/no/such/program";
  char* commands[] = {command};
  const int one = 1;
  CHECK(!unwanted(MPI_Comm_spawn(root ? command : nullptr, MPI_ARGV_NULL, root ? 1 : -1, info, 0, MPI_COMM_WORLD, &made,
                                 MPI_ERRCODES_IGNORE)));
  CHECK(
      !unwanted(MPI_Comm_spawn_multiple(root ? 1 : -1, root ? commands : nullptr, MPI_ARGVS_NULL, root ? &one : nullptr,
                                        root ? &info : nullptr, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE)));
  CHECK(!unwanted(MPI_Comm_connect(root ? "no such port" : nullptr, info, 0, MPI_COMM_WORLD, &made)));

  // The groups are ranks 0 and 1, and ranks 2 and 3; the first of each is the leader.
  MPI_Comm half = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half));
  const bool leads = rank % 2 == 0;
  const int other = rank < 2 ? 2 : 0;
  CHECK_OK(MPI_Intercomm_create(half, 0, leads ? MPI_COMM_WORLD : reinterpret_cast<MPI_Comm>(&garbage),
                                leads ? other : -77, 3, &made));
  CHECK_OK(MPI_Comm_free(&made));
  MPI_Group world = MPI_GROUP_NULL, local = MPI_GROUP_NULL, remote = MPI_GROUP_NULL;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Comm_group(half, &local));
  CHECK_OK(MPI_Group_difference(world, local, &remote));
  CHECK_OK(MPI_Intercomm_create_from_groups(local, 0, leads ? remote : MPI_GROUP_NULL, leads ? 0 : -77, "root_only",
                                            MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  int size = 0;
  CHECK_OK(MPI_Comm_remote_size(made, &size));
  CHECK_EQ(size, 2);
  for (MPI_Group* group : {&world, &local, &remote}) CHECK_OK(MPI_Group_free(group));
  CHECK_OK(MPI_Comm_free(&made));
  CHECK_OK(MPI_Comm_free(&half));
}

// Adds and removes more classes and codes, one pair at a time, than there are numbers.
void error_numbers() {
  for (int i = 0; i < 70'000; ++i) {
    int error_class = 0;
    int code = 0;
    CHECK_OK(MPI_Add_error_class(&error_class));
    CHECK_OK(MPI_Add_error_code(error_class, &code));
    CHECK(error_class != code);
    CHECK(error_class > MPI_ERR_LASTCODE);
    CHECK_EQ(class_of(code), error_class);
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_class(error_class));
  }
}

// The handler is set on MPI_COMM_WORLD only, as in old programs.
void world_handler() {
  MPI_Errhandler world = handler(&on_parent);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
  int size = 0;
  MPI_Request request = reinterpret_cast<MPI_Request>(&size);
  CHECK_EQ(class_of(MPI_Group_size(MPI_GROUP_NULL, &size)), MPI_ERR_GROUP);
  CHECK_EQ(class_of(MPI_Type_size(MPI_DATATYPE_NULL, &size)), MPI_ERR_TYPE);
  CHECK_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
  CHECK_EQ(parent_calls, 3);
  MPI_Errhandler self = handler(&on_self);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
  CHECK_EQ(class_of(MPI_Group_size(MPI_GROUP_NULL, &size)), MPI_ERR_GROUP);
  CHECK_EQ(parent_calls, 3);
  CHECK_EQ(self_calls, 1);
  CHECK_OK(MPI_Errhandler_free(&world));
  CHECK_OK(MPI_Errhandler_free(&self));
}

std::map<std::string, std::string> contents(MPI_Info info) {
  std::map<std::string, std::string> found;
  int keys = 0;
  CHECK_OK(MPI_Info_get_nkeys(info, &keys));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY];
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof value;
    int flag = 0;
    CHECK_OK(MPI_Info_get_nthkey(info, i, key));
    CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
    found[key] = value;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which == "world_handler") {
    MPI_Init(&argc, &argv);
    world_handler();
    MPI_Finalize();
    return 0;
  }
  MPI_Info early = MPI_INFO_NULL;
  if (which == "info_env") MPI_Info_create_env(argc, argv, &early);
  const check::Environment mpi(&argc, &argv);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (which == "info_env") {
    MPI_Info late = MPI_INFO_NULL;
    CHECK_OK(MPI_Info_create_env(argc, argv, &late));
    CHECK(contents(early) == contents(late));
    CHECK_EQ(contents(MPI_INFO_ENV).count("thread_level"), 0U);
    CHECK_OK(MPI_Info_free(&early));
    CHECK_OK(MPI_Info_free(&late));
    return 0;
  }
  const std::map<std::string, void (*)()> cases = {
      {"chars", chars},
      {"chars_refused", chars_refused},
      {"iflush", iflush},
      {"freed_keyval", freed_keyval},
      {"mrecv_handler", mrecv_handler},
      {"from_group_handler", from_group_handler},
      {"psets", psets},
      {"error_numbers", error_numbers},
      {"session_buffer", session_buffer},
      {"idup_handler", idup_handler},
      {"contexts", contexts},
      {"contexts_again", contexts_again},
      {"root_only", root_only},
  };
  const auto found = cases.find(which);
  CHECK(found != cases.end());
  if (found != cases.end()) found->second();
}
