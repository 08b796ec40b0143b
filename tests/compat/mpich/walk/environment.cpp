// Contents of datatypes, the environment, tools, windows, names of the profiling interface.
#include "walk.hpp"

namespace walk {

void contents() {
  const int sizes[2] = {4, 6}, part[2] = {2, 3}, start[2] = {1, 1};
  MPI_Datatype type, vector;
  int integers, addresses, types, combiner;
  CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
  CHECK_OK(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, vector, &type));
  CHECK_OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_SUBARRAY);
  CHECK_EQ(integers, 8);
  std::vector<int> numbers(20, -1);
  MPI_Datatype inner[3] = {-1, -1, -1};
  CHECK_OK(MPI_Type_get_contents(type, 20, 0, 3, numbers.data(), nullptr, inner));
  CHECK_EQ(numbers[7], MPI_ORDER_FORTRAN);
  CHECK_EQ(inner[1], -1);
  CHECK_OK(MPI_Type_get_envelope(inner[0], &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
  CHECK_OK(MPI_Type_free(&inner[0]));
  CHECK_OK(MPI_Type_free(&vector));
  CHECK_OK(MPI_Type_free(&type));

  const int global[2] = {MPI_ORDER_C, 12}, distribution[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
            argument[2] = {MPI_DISTRIBUTE_DFLT_DARG, 3}, grid[2] = {1, 1};
  CHECK_OK(MPI_Type_create_darray(1, 0, 2, global, distribution, argument, grid, MPI_ORDER_C, MPI_DOUBLE, &type));
  CHECK_OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_DARRAY);
  CHECK_OK(MPI_Type_get_contents(type, 20, 0, 1, numbers.data(), nullptr, inner));
  const int wanted[] = {1, 0, 2, MPI_ORDER_C, 12, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG,
                        3, 1, 1, MPI_ORDER_C};
  for (int i = 0; i < 12; ++i) CHECK_EQ(numbers[i], wanted[i]);
  CHECK_EQ(inner[0], MPI_DOUBLE);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  CHECK_OK(MPI_Type_size(type, &integers));
  CHECK_EQ(integers, 8);
}

void environment() {
  char name[MPI_MAX_PROCESSOR_NAME + 8];
  int length = 0, level = -1;
  std::memset(name, '#', sizeof name);
  CHECK_OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
  CHECK_EQ(std::strlen(name), static_cast<std::size_t>(length));
  CHECK_EQ(name[MPI_MAX_PROCESSOR_NAME], '#');
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_EQ(level, MPI_THREAD_SERIALIZED);

  CHECK_EQ(MPI_Comm_c2f(MPI_COMM_WORLD), MPI_COMM_WORLD);
  CHECK_EQ(MPI_Type_f2c(MPI_DOUBLE), MPI_DOUBLE);
  CHECK_EQ(MPI_File_c2f(MPI_FILE_NULL), 0);

  MPI_Info info;
  int nkeys = -1, flag = 0;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "key", "value"));
  CHECK_OK(MPI_Info_get_nkeys(info, &nkeys));
  CHECK_EQ(nkeys, 1);
  char key[MPI_MAX_INFO_KEY + 1], value[16];
  CHECK_OK(MPI_Info_get_nthkey(info, 0, key));
  CHECK_EQ(std::string(key), std::string("key"));
  CHECK_OK(MPI_Info_get(info, "key", 15, value, &flag));
  CHECK_EQ(std::string(value), std::string("value"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_EQ(info, MPI_INFO_NULL);
  CHECK_OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &nkeys));

  MPI_Session session;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_EQ(session, MPI_SESSION_NULL);
}

void tools() {
  int level = -1, number = 0;
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
  CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
  CHECK_EQ(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
  for (int i = 0; i < number; ++i) {
    char name[128], text[4];
    int length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum values;
    CHECK_EQ(MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, text, &text_length, &bind, &scope),
             MPI_SUCCESS);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_SESSION);
    CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
    CHECK((type & 0xff000000) == 0x4c000000);
    int index = -1;
    CHECK_EQ(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    CHECK_EQ(index, i);
  }
  CHECK_EQ(MPI_T_cvar_get_index("no_such_variable", &number), MPI_T_ERR_INVALID_NAME);
  CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

void windows() {
  MPI_Win win = MPI_WIN_NULL;
  int place = 0;
  CHECK_OK(MPI_Win_create(&place, 4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &win));
  CHECK(win != MPI_WIN_NULL);
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE);
  CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
  const int seven = 7;
  CHECK_OK(MPI_Put(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
  CHECK_OK(MPI_Win_unlock(0, win));
  CHECK_EQ(place, 7);
  CHECK_OK(MPI_Win_free(&win));
  CHECK_EQ(win, MPI_WIN_NULL);
}

void profiling_names() {
  int again = -1;
  CHECK_OK(PMPI_Comm_rank(MPI_COMM_WORLD, &again));
  CHECK_EQ(again, rank);
#if MPI_VERSION >= 4
  MPI_Count count = 0;
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv_c(&rank, 1, MPI_INT, rank, 2, &again, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_EQ(count, 1);
#endif
}

}  // namespace walk
