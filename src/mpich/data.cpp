// Variables that MPICH's mpi.h declares: only their addresses have a meaning, and their contents are never read. mpi.h
// is not included, as it has macros of these names.
#define HR_EXPORT __attribute__((visibility("default")))

namespace {

int places[8];

}  // namespace

extern "C" {
extern HR_EXPORT int* const MPI_UNWEIGHTED = &places[0];
extern HR_EXPORT int* const MPI_WEIGHTS_EMPTY = &places[1];
extern HR_EXPORT void* const MPI_T_PVAR_ALL_HANDLES = &places[2];
HR_EXPORT int* MPI_F_STATUS_IGNORE = &places[3];
HR_EXPORT int* MPI_F_STATUSES_IGNORE = &places[4];
HR_EXPORT void* MPI_F08_STATUS_IGNORE = &places[5];
HR_EXPORT void* MPI_F08_STATUSES_IGNORE = &places[6];
}
