// Callbacks: operations, attributes, error handlers and the codes passed to them, generalized requests.
#include "walk.hpp"

namespace walk {

namespace {

MPI_Datatype expected_type;
int calls;

void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  CHECK_EQ(*type, expected_type);
  ++calls;
  for (int i = 0; i < *length * (expected_type == MPI_INT ? 1 : 2); ++i) {
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
}

template <int factor>
void scaled(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += factor * static_cast<int*>(in)[i];
}

template <int... factor>
void many_operations(std::integer_sequence<int, factor...>) {
  MPI_User_function* const functions[] = {&scaled<factor>...};
  std::vector<MPI_Op> ops(sizeof...(factor));
  for (std::size_t i = 0; i < ops.size(); ++i) CHECK_OK(MPI_Op_create(functions[i], 1, &ops[i]));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int in = 10;
    int inout = 1;
    CHECK_OK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, ops[i]));
    CHECK_EQ(inout, 1 + 10 * static_cast<int>(i));
    CHECK_OK(MPI_Op_free(&ops[i]));
    CHECK_EQ(ops[i], MPI_OP_NULL);
  }
}

}  // namespace

void operations() {
  struct {
    MPI_Op op;
    int result;
  } const known[] = {{MPI_MAX, 6},  {MPI_MIN, 3}, {MPI_SUM, 9}, {MPI_PROD, 18}, {MPI_LAND, 1},
                     {MPI_BAND, 2}, {MPI_LOR, 1}, {MPI_BOR, 7}, {MPI_LXOR, 0},  {MPI_BXOR, 5}};
  for (const auto& each : known) {
    const int in = 3;
    int inout = 6;
    CHECK_OK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, each.op));
    CHECK_EQ(inout, each.result);
  }
  int place[2] = {1, 2};
  CHECK_CLASS(MPI_Reduce_local(place, place + 1, 1, MPI_INT, MPI_REPLACE),
              MPI_ERR_OP);  // known, and not for reductions
  CHECK_CLASS(MPI_Reduce_local(place, place + 1, 1, MPI_INT, MPI_NO_OP), MPI_ERR_OP);
  struct {
    int value, index;
  } pair = {rank, rank}, least;
  CHECK_OK(MPI_Allreduce(&pair, &least, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK_EQ(least.index, size - 1);

  MPI_Op op;
  MPI_Datatype two;
  CHECK_OK(MPI_Op_create(add, 1, &op));
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &two));
  CHECK_OK(MPI_Type_commit(&two));
  for (const MPI_Datatype type : {MPI_INT, two}) {
    expected_type = type;
    const int in[2] = {rank, 1};
    int out[2] = {-1, -1};
    calls = 0;
    const int local_in[2] = {1, 1};
    int local[2] = {1, 1};
    CHECK_OK(MPI_Reduce_local(local_in, local, 1, type, op));
    CHECK_EQ(calls, 1);
    CHECK_OK(MPI_Allreduce(in, out, 1, type, op, MPI_COMM_WORLD));
    CHECK_EQ(out[0], size * (size - 1) / 2);
    if (type == two) CHECK_EQ(out[1], size);
  }
  CHECK_OK(MPI_Type_free(&two));
  CHECK_OK(MPI_Op_free(&op));
  many_operations(std::make_integer_sequence<int, 100>());
}

namespace {

// More functions than libmpi.so.12 can distinguish: the excess is rejected, and the others still work.
template <int... factor>
void too_many(std::integer_sequence<int, factor...>) {
  MPI_User_function* const functions[] = {&scaled<factor>...};
  int refused = 0;
  for (MPI_User_function* const function : functions) {
    MPI_Op op = MPI_OP_NULL;
    const int code = MPI_Op_create(function, 1, &op);
    if (code == MPI_SUCCESS) {
      CHECK_OK(MPI_Op_free(&op));
    } else {
      CHECK_EQ(check::error_class(code), MPI_ERR_NO_MEM);
      CHECK_EQ(op, MPI_OP_NULL);
      ++refused;
    }
  }
  CHECK(refused > 0 && refused < 100);
  many_operations(std::make_integer_sequence<int, 100>());
}

MPI_Comm expected_comm;
int expected_keyval, copies, deletes;

int copy_attribute(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  CHECK_EQ(comm, expected_comm);
  CHECK_EQ(keyval, expected_keyval);
  CHECK(state == &copies);
  ++copies;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int keyval, void*, void* state) {
  CHECK_EQ(keyval, expected_keyval);
  CHECK(state == &copies);
  ++deletes;
  return MPI_SUCCESS;
}

int refuse(MPI_Comm, int, void*, void*) { return MPI_ERR_OTHER; }

}  // namespace

void too_many_operations() { too_many(std::make_integer_sequence<int, 550>()); }

void attributes() {
  struct {
    int keyval, least;
  } const known[] = {{MPI_TAG_UB, 32767}, {MPI_WTIME_IS_GLOBAL, 0}, {MPI_LASTUSEDCODE, MPI_ERR_LASTCODE}};
  for (const auto& each : known) {
    int* value = nullptr;
    int flag = 0;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, each.keyval, &value, &flag));
    CHECK_EQ(flag, 1);
    CHECK(*value >= each.least);
  }
  int* io = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &io, &flag));
  if (flag != 0) CHECK(*io == MPI_ANY_SOURCE || *io == MPI_PROC_NULL || *io >= 0);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &io, &flag));
  if (flag != 0) CHECK(*io == MPI_PROC_NULL || *io >= 0);

  int keyval = MPI_KEYVAL_INVALID;
  char place[4];
  char* value = nullptr;
  MPI_Comm dup;
  CHECK_OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, &copies));
  expected_keyval = keyval;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &expected_comm));
  CHECK_OK(MPI_Comm_set_attr(expected_comm, keyval, place));
  CHECK_OK(MPI_Comm_dup(expected_comm, &dup));
  CHECK_EQ(copies, 1);
  CHECK_OK(MPI_Comm_get_attr(dup, keyval, &value, &flag));
  CHECK(flag == 1 && value == place + 1);
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Comm_free(&expected_comm));
  CHECK_EQ(deletes, 2);

  // The predefined functions, separately and combined with one of the program's functions.
  for (MPI_Comm_delete_attr_function* const remove : {MPI_COMM_NULL_DELETE_FN, &refuse}) {
    for (MPI_Comm_copy_attr_function* const copy : {MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN}) {
      MPI_Comm base;
      CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &base));
      CHECK_OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
      CHECK_OK(MPI_Comm_create_keyval(copy, remove, &keyval, nullptr));
      CHECK_OK(MPI_Comm_set_attr(base, keyval, place));
      CHECK_OK(MPI_Comm_dup(base, &dup));
      CHECK_OK(MPI_Comm_get_attr(dup, keyval, &value, &flag));
      CHECK_EQ(flag, copy == MPI_COMM_DUP_FN ? 1 : 0);
      if (remove == &refuse) {
        CHECK_CLASS(MPI_Comm_delete_attr(base, keyval), MPI_ERR_OTHER);
      } else {
        CHECK_OK(MPI_Comm_delete_attr(base, keyval));
        CHECK_OK(MPI_Comm_free(&base));
        CHECK_OK(MPI_Comm_free(&dup));
      }
      CHECK_OK(MPI_Comm_free_keyval(&keyval));
    }
  }
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr));
  MPI_Datatype type, same;
  CHECK_OK(MPI_Type_contiguous(1, MPI_INT, &type));
  CHECK_OK(MPI_Type_set_attr(type, keyval, place));
  CHECK_OK(MPI_Type_dup(type, &same));
  CHECK_OK(MPI_Type_get_attr(same, keyval, &value, &flag));
  CHECK(flag == 1 && value == place);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_free(&same));
  CHECK_OK(MPI_Type_free_keyval(&keyval));
}

namespace {

MPI_Comm failed_comm;
int failed_code, failures;

void note(MPI_Comm* comm, int* code, ...) {
  failed_comm = *comm;
  failed_code = *code;
  ++failures;
}

}  // namespace

void error_handlers() {
  MPI_Errhandler handler, found;
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK_EQ(found, MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Comm_create_errhandler(note, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
  CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK_EQ(found, handler);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_EQ(handler, MPI_ERRHANDLER_NULL);
  const int code = MPI_Send(nullptr, 0, MPI_INT, size, 0, comm);
  CHECK_EQ(failures, 1);
  CHECK_EQ(failed_comm, comm);
  CHECK_EQ(failed_code, code);
  CHECK_EQ(check::error_class(failed_code), MPI_ERR_RANK);
  CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
  CHECK_EQ(failed_code, MPI_ERR_TOPOLOGY);
  for (const MPI_Errhandler each : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, MPI_ERRORS_ABORT}) {
    CHECK_OK(MPI_Comm_set_errhandler(comm, each));
    CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
    CHECK_EQ(found, each);
  }
  CHECK_OK(MPI_Comm_free(&comm));
}

void error_codes() {
  const int classes[] = {MPI_ERR_BUFFER,
                         MPI_ERR_COUNT,
                         MPI_ERR_TYPE,
                         MPI_ERR_TAG,
                         MPI_ERR_COMM,
                         MPI_ERR_RANK,
                         MPI_ERR_ROOT,
                         MPI_ERR_GROUP,
                         MPI_ERR_OP,
                         MPI_ERR_TOPOLOGY,
                         MPI_ERR_DIMS,
                         MPI_ERR_ARG,
                         MPI_ERR_UNKNOWN,
                         MPI_ERR_TRUNCATE,
                         MPI_ERR_OTHER,
                         MPI_ERR_INTERN,
                         MPI_ERR_IN_STATUS,
                         MPI_ERR_PENDING,
                         MPI_ERR_REQUEST,
                         MPI_ERR_ACCESS,
                         MPI_ERR_FILE,
                         MPI_ERR_INFO,
                         MPI_ERR_KEYVAL,
                         MPI_ERR_NO_MEM,
                         MPI_ERR_SPAWN,
                         MPI_ERR_WIN,
                         MPI_ERR_RMA_SYNC,
                         MPI_ERR_RMA_FLAVOR,
                         MPI_ERR_UNSUPPORTED_OPERATION};
  char empty[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING];
  int length = 0;
  CHECK_OK(MPI_Error_string(MPI_ERR_UNKNOWN, empty, &length));
  for (const int each : classes) {
    CHECK_EQ(check::error_class(each), each);
    CHECK_OK(MPI_Error_string(each, text, &length));
    CHECK(length > 10);
  }
  CHECK_OK(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
  CHECK(std::string(text).find("longer") != std::string::npos);
  int added_class = 0, added_code = 0;
  CHECK_OK(MPI_Add_error_class(&added_class));
  CHECK(added_class > MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Add_error_code(added_class, &added_code));
  CHECK(added_code > MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Add_error_string(added_code, "a text of the program's"));
  CHECK_EQ(check::error_class(added_code), added_class);
  CHECK_EQ(check::error_text(added_code), std::string("a text of the program's"));
  int* last = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK_EQ(*last, added_code);
}

namespace {

int queried, freed;

int query(void* state, MPI_Status* status) {
  CHECK(state == &queried);
  ++queried;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = 12;
  CHECK_OK(MPI_Status_set_elements(status, MPI_INT, 9));
  CHECK_OK(MPI_Status_set_cancelled(status, 0));
  return MPI_SUCCESS;
}
int free_state(void* state) {
  CHECK(state == &queried);
  ++freed;
  return MPI_SUCCESS;
}
int cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

void generalized_requests() {
  MPI_Request request;
  MPI_Status status;
  int count = 0;
  CHECK_OK(MPI_Grequest_start(query, free_state, cancel, &queried, &request));
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(request, MPI_REQUEST_NULL);
  CHECK_EQ(queried, 1);
  CHECK_EQ(freed, 1);
  CHECK_EQ(status.MPI_TAG, 12);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 9);
}

}  // namespace walk
