// Handles as integers (MPI 5.0 sections 19.3.4 and 20.4.5): the number of a predefined handle is its constant in the
// ABI; another handle has a unique number, from which the handle can be found.
#include <cstdint>
#include <set>

#include "../common/check.hpp"
#include "../io/io_test.hpp"

namespace {

// The four conversion functions for one kind of handle.
template <class Handle>
struct Kind {
  const char* name;
  MPI_Fint (*c2f)(Handle);
  Handle (*f2c)(MPI_Fint);
  int (*toint)(Handle);
  Handle (*fromint)(int);
};
#define KIND(Name, Handle) \
  Kind<Handle> { #Name, MPI_##Name##_c2f, MPI_##Name##_f2c, MPI_##Name##_toint, MPI_##Name##_fromint }

constexpr int kLastConstant = 4095;  // largest value of an ABI constant

// Numbers seen so far for handles that are not predefined.
std::set<int> given;

template <class Handle>
void expect(int line, const Kind<Handle>& kind, Handle handle, int number) {
  const auto is = [&](bool right, const char* function) {
    if (!right) check::fail(__FILE__, line, std::string("MPI_") + kind.name + function + " is wrong");
  };
  is(kind.c2f(handle) == number, "_c2f");
  is(kind.toint(handle) == number, "_toint");
  is(kind.f2c(number) == handle, "_f2c");
  is(kind.fromint(number) == handle, "_fromint");
}

template <class Handle>
void predefined(int line, const Kind<Handle>& kind, std::initializer_list<Handle> handles) {
  for (Handle handle : handles) {
    const auto value = reinterpret_cast<std::intptr_t>(handle);
    CHECK(value > 0 && value <= kLastConstant);
    expect(line, kind, handle, static_cast<int>(value));
  }
}

// Checks that an object's number is neither a constant nor another object's, and that both functions return it.
template <class Handle>
void object(int line, const Kind<Handle>& kind, Handle handle) {
  const int number = kind.c2f(handle);
  CHECK(number < 0 || number > kLastConstant);
  expect(line, kind, handle, number);
  if (!given.insert(number).second)
    check::fail(__FILE__, line,
                std::string(kind.name) + ": two live handles have the number " + std::to_string(number));
}
#define PREDEFINED(kind, ...) predefined(__LINE__, kind, {__VA_ARGS__})
#define OBJECT(kind, handle) object(__LINE__, kind, handle)

constexpr auto kComm = KIND(Comm, MPI_Comm);
constexpr auto kErrhandler = KIND(Errhandler, MPI_Errhandler);
constexpr auto kFile = KIND(File, MPI_File);
constexpr auto kGroup = KIND(Group, MPI_Group);
constexpr auto kInfo = KIND(Info, MPI_Info);
constexpr auto kMessage = KIND(Message, MPI_Message);
constexpr auto kOp = KIND(Op, MPI_Op);
constexpr auto kRequest = KIND(Request, MPI_Request);
constexpr auto kSession = KIND(Session, MPI_Session);
constexpr auto kType = KIND(Type, MPI_Datatype);
constexpr auto kWin = KIND(Win, MPI_Win);

void constants() {
  PREDEFINED(kComm, MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF);
  PREDEFINED(kErrhandler, MPI_ERRHANDLER_NULL, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, MPI_ERRORS_ABORT);
  PREDEFINED(kFile, MPI_FILE_NULL);
  PREDEFINED(kGroup, MPI_GROUP_NULL, MPI_GROUP_EMPTY);
  PREDEFINED(kInfo, MPI_INFO_NULL, MPI_INFO_ENV);
  PREDEFINED(kMessage, MPI_MESSAGE_NULL, MPI_MESSAGE_NO_PROC);
  PREDEFINED(kOp, MPI_OP_NULL, MPI_SUM, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP);
  PREDEFINED(kRequest, MPI_REQUEST_NULL);
  PREDEFINED(kSession, MPI_SESSION_NULL);
  PREDEFINED(kType, MPI_DATATYPE_NULL, MPI_INT, MPI_DOUBLE, MPI_BYTE, MPI_PACKED, MPI_LOGICAL, MPI_DOUBLE_INT);
  PREDEFINED(kWin, MPI_WIN_NULL);
}

void nothing(void*, void*, int*, MPI_Datatype*) {}
void no_handler(MPI_Comm*, int*, ...) {}

void objects(const check::Environment& mpi) {
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OBJECT(kComm, comm);
  int size = -1;
  CHECK_OK(MPI_Comm_size(MPI_Comm_f2c(MPI_Comm_c2f(comm)), &size));
  CHECK_EQ(size, mpi.size);

  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Comm_create_errhandler(no_handler, &errhandler));
  OBJECT(kErrhandler, errhandler);

  MPI_Group group = MPI_GROUP_NULL;
  CHECK_OK(MPI_Comm_group(comm, &group));
  OBJECT(kGroup, group);

  MPI_Info info = MPI_INFO_NULL, second = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_create(&second));
  OBJECT(kInfo, info);
  OBJECT(kInfo, second);

  MPI_Op op = MPI_OP_NULL;
  CHECK_OK(MPI_Op_create(nothing, 1, &op));
  OBJECT(kOp, op);

  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OBJECT(kType, type);

  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OBJECT(kSession, session);

  int memory = 0;
  MPI_Win win = MPI_WIN_NULL;
  CHECK_OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win));
  OBJECT(kWin, win);

  const io_test::Name name("handles");
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OBJECT(kFile, file);

  // A request and a message, completed through their numbers.
  int sent = 17, received = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  CHECK_OK(MPI_Irecv(&received, 1, MPI_INT, mpi.rank, 1, comm, &request));
  OBJECT(kRequest, request);
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, mpi.rank, 1, comm));
  request = MPI_Request_fromint(MPI_Request_toint(request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(received, 17);
  sent = 18;
  CHECK_OK(MPI_Isend(&sent, 1, MPI_INT, mpi.rank, 2, comm, &request));
  CHECK_OK(MPI_Mprobe(mpi.rank, 2, comm, &message, MPI_STATUS_IGNORE));
  OBJECT(kMessage, message);
  message = MPI_Message_fromint(MPI_Message_toint(message));
  CHECK_OK(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(received, 18);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  CHECK_OK(MPI_File_close(&file));
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Info_free(&second));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Errhandler_free(&errhandler));
  CHECK_OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  constants();
  objects(mpi);
}
