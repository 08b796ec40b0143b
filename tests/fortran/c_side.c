/* C's view of handles and values of the Fortran tests. */
#include <mpi.h>
#include <string.h>

int c_comm_rank(int comm) {
  int rank = -1;
  MPI_Comm_rank(MPI_Comm_fromint(comm), &rank);
  return rank;
}
int c_comm_size(int comm) {
  int size = -1;
  MPI_Comm_size(MPI_Comm_fromint(comm), &size);
  return size;
}
/* A duplicate made in C, used and freed in Fortran. */
int c_comm_dup(int comm) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_Comm_fromint(comm), &made);
  return MPI_Comm_toint(made);
}
int c_type_size(int type) {
  int size = -1;
  MPI_Type_size(MPI_Type_fromint(type), &size);
  return size;
}
long c_type_extent(int type) {
  MPI_Aint low = -1, extent = -1;
  MPI_Type_get_extent(MPI_Type_fromint(type), &low, &extent);
  return extent;
}
int c_group_size(int group) {
  int size = -1;
  MPI_Group_size(MPI_Group_fromint(group), &size);
  return size;
}
/* A status has the same layout in both languages (sections 20.3.1, 20.4.3). */
int c_count(const int* f_status, int type) {
  MPI_Status status;
  int count = -1;
  memcpy(&status, f_status, sizeof(status));
  MPI_Get_count(&status, MPI_Type_fromint(type), &count);
  return count;
}
/* Sends from C what Fortran receives. */
int c_send(int value, int to, int tag, int comm) {
  return MPI_Send(&value, 1, MPI_INT, to, tag, MPI_Comm_fromint(comm));
}
/* A request started by Fortran and completed by C. */
int c_wait(int request) {
  MPI_Request mine = MPI_Request_fromint(request);
  MPI_Wait(&mine, MPI_STATUS_IGNORE);
  return mine == MPI_REQUEST_NULL;
}
/* C's view of an attribute stored by Fortran: the address of an integer (MPI 5.0 section 19.3.7). */
long c_attribute(int comm, int keyval) {
  void* value = NULL;
  int flag = 0;
  MPI_Comm_get_attr(MPI_Comm_fromint(comm), keyval, &value, &flag);
  return flag ? *(MPI_Aint*)value : -1;
}
static int word = 77;
/* An attribute that C stores: Fortran gets the pointer. */
long c_set_attribute(int comm, int keyval) {
  MPI_Comm_set_attr(MPI_Comm_fromint(comm), keyval, &word);
  return (long)&word;
}
int c_sum(const int* values, int count, int op) {
  int result[16];
  memcpy(result, values, sizeof(int) * (size_t)count);
  MPI_Reduce_local(values, result, count, MPI_INT, MPI_Op_fromint(op));
  return result[0];
}
int c_name_length(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = -1;
  MPI_Get_processor_name(name, &length);
  return length;
}
int c_info_matches(int info, const char* key, const char* expected) {
  char value[64] = "";
  int length = sizeof(value), flag = 0;
  MPI_Info_get_string(MPI_Info_fromint(info), key, &length, value, &flag);
  return flag && strcmp(value, expected) == 0;
}
int c_error_class(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}
