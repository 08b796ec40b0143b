! Overhead of the Fortran bindings per call: 8 bytes through mpi_f08 and in C, and an array section compared with a
! derived datatype. The messages go to the process itself, so that only the calls are timed. The variants take turns,
! and the fastest round of each counts.
!
!   mpicc -O2 -c overhead.c && mpifort -O2 overhead.f90 overhead.o -o overhead && mpiexec -n 1 ./overhead
program overhead
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    real(c_double) function c_pairs(count) bind(C)
      import
      integer(c_int), value :: count
    end function
  end interface
  integer, parameter :: rounds = 200, calls = 2000
  integer :: i
  double precision :: c, f
  call MPI_Init()
  c = 1
  f = 1
  do i = 1, rounds
    c = min(c, c_pairs(calls))
    f = min(f, f08_pairs(calls))
  end do
  print '(a, f7.1, a, f7.1, a, f7.1, a)', 'MPI_Send and MPI_Recv of 8 B: C ', 1d9 * c, ' ns, mpi_f08 ', 1d9 * f, &
      ' ns, ', 1d9 * (f - c), ' ns more for both'
  call sections(64)
  call sections(1024)
  call sections(32768)
  call MPI_Finalize()
contains
  double precision function f08_pairs(count)
    integer, intent(in) :: count
    double precision, save :: sent = 1, got
    integer :: i
    double precision :: start
    start = MPI_Wtime()
    do i = 1, count
      call MPI_Send(sent, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF)
      call MPI_Recv(got, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    end do
    f08_pairs = (MPI_Wtime() - start) / count
  end function

  subroutine sections(length)
    integer, intent(in) :: length
    double precision, allocatable :: a(:, :), b(:, :)
    type(MPI_Datatype) :: row
    type(MPI_Request) :: r(2)
    double precision :: start, by_section, by_type
    integer :: i, k
    allocate (a(8, length), b(8, length))
    a = 1
    b = 0
    call MPI_Type_vector(length, 1, 8, MPI_DOUBLE_PRECISION, row)
    call MPI_Type_commit(row)
    by_section = 1
    by_type = 1
    do i = 1, 100
      start = MPI_Wtime()
      do k = 1, 20
        call MPI_Irecv(b(3, :), length, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, r(1))
        call MPI_Isend(a(2, :), length, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, r(2))
        call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
      end do
      by_section = min(by_section, (MPI_Wtime() - start) / 20)
      start = MPI_Wtime()
      do k = 1, 20
        call MPI_Irecv(b(3, 1), 1, row, 0, 1, MPI_COMM_SELF, r(1))
        call MPI_Isend(a(2, 1), 1, row, 0, 1, MPI_COMM_SELF, r(2))
        call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
      end do
      by_type = min(by_type, (MPI_Wtime() - start) / 20)
    end do
    print '(a, i6, a, f9.2, a, f9.2, a, f5.2)', 'a row of ', length, ' elements: section ', 1d6 * by_section, &
        ' us, derived datatype ', 1d6 * by_type, ' us, ratio ', by_section / by_type
  end subroutine
end program
