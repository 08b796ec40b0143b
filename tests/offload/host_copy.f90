! The kernel has written the copy on the device, but the host's array is sent; with RIGHT defined, the program is correct.
program host_copy
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 1000
  double precision, save :: a(n)
  integer :: rank, ierror, i

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  a = 0
  if (rank == 0) then
    !$acc enter data copyin(a)
    !$acc parallel loop present(a)
    do i = 1, n
      a(i) = 3 * i
    end do
#ifdef RIGHT
    !$acc host_data use_device(a)
#endif
    call MPI_Send(a, n, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, ierror)
#ifdef RIGHT
    !$acc end host_data
#endif
    !$acc exit data delete(a)
  else
    call MPI_Recv(a, n, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
#ifdef RIGHT
    if (any(a /= [(3 * i, i = 1, n)])) stop 1
#endif
  end if
  call MPI_Finalize(ierror)
end program host_copy
