! One source for the three interfaces: compiled with -DF08, -DMODULE or -DMPIF.
#if defined(F08)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#define HANDLE(t) type(t)
#define STATUS_OF(s) type(MPI_Status) :: s
#define STATUSES_OF(s, n) type(MPI_Status) :: s(n)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#define NUMBER(h) h%MPI_VAL
#define ELEMENT(s, i) s(i)
#define SOURCE_AT(s, i) s(i)%MPI_SOURCE
#define POINTER_KIND type(c_ptr)
#define ADDRESS_IN(p) p
#else
#if defined(MODULE)
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#define HANDLE(t) integer
#define STATUS_OF(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES_OF(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#define NUMBER(h) h
#define ELEMENT(s, i) s(1, i)
#define SOURCE_AT(s, i) s(MPI_SOURCE, i)
#define POINTER_KIND integer(MPI_ADDRESS_KIND)
#define ADDRESS_IN(p) transfer(p, c_null_ptr)
#endif
