// Error handlers, and errors for wrong arguments.
#include "ring.hpp"

namespace {

int seen_code = MPI_SUCCESS;
MPI_Comm seen_comm = MPI_COMM_NULL;

void handler(MPI_Comm* comm, int* code, ...) {
  seen_comm = *comm;
  seen_code = *code;
}

void inheritance() {
  MPI_Errhandler errhandler;
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  MPI_Comm parent;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  CHECK_OK(MPI_Comm_set_errhandler(parent, errhandler));
  CHECK_OK(MPI_Errhandler_free(&errhandler));
  MPI_Comm child;
  CHECK_OK(MPI_Comm_split(parent, 0, 0, &child));
  CHECK_OK(MPI_Comm_call_errhandler(child, MPI_ERR_OTHER));
  CHECK_EQ(seen_code, MPI_ERR_OTHER);
  CHECK(seen_comm == child);
  int out = 0;
  CHECK_CLASS(MPI_Send(&out, 1, MPI_INT, check::size_of(child), 0, child), MPI_ERR_RANK);
  CHECK_EQ(check::error_class(seen_code), MPI_ERR_RANK);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_free(&parent));
}

void arguments(const check::Environment& mpi) {
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm out = MPI_COMM_NULL;
  MPI_Comm null = MPI_COMM_NULL;
  int number = 0;
  CHECK_CLASS(MPI_Comm_free(&null), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_dup(MPI_COMM_NULL, &out), MPI_ERR_COMM);
  MPI_Comm self = MPI_COMM_SELF;
  CHECK_CLASS(MPI_Comm_free(&self), MPI_ERR_COMM);
  CHECK(self == MPI_COMM_SELF);
  CHECK_CLASS(MPI_Comm_split(comm, -3, 0, &out), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_create(comm, MPI_GROUP_NULL, &out), MPI_ERR_GROUP);
  int dims[1] = {mpi.size + 1};
  const int periods[1] = {0};
  CHECK_CLASS(MPI_Cart_create(comm, 1, dims, periods, 0, &out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cartdim_get(comm, &number), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Comm_set_attr(comm, MPI_KEYVAL_INVALID, nullptr), MPI_ERR_KEYVAL);
  MPI_Group group = check::group_of(comm);
  MPI_Group part;
  const int outside = mpi.size;
  CHECK_CLASS(MPI_Group_incl(group, 1, &outside, &part), MPI_ERR_RANK);
  CHECK_OK(MPI_Group_free(&group));
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_CLASS(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY);
  CHECK_CLASS(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_CLASS(MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  // Using a freed handle is an error, not a crash.
  MPI_Comm stale = comm;
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_CLASS(MPI_Comm_size(stale, &number), MPI_ERR_COMM);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  inheritance();
  arguments(mpi);
}
