! Array sections as buffers: nothing but the section is read or written, in blocking and non-blocking calls.
#include "interfaces.h"
program sections
  USE_MPI
  use checks
  implicit none
  integer, parameter :: none = -777
  integer :: e, rank, n, i, j, k, left, right, a(12, 10), b(12, 10), c(6, 5, 4), d(6, 5, 4), v(40), w(40), count
  integer :: buffer(1000)
  double precision :: x(8, 6), y(8, 6)
  HANDLE(MPI_Request) :: r(4)
  HANDLE(MPI_Datatype) :: pair
  STATUS_OF(status)
  logical :: flag
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  left = mod(rank - 1 + n, n)
  right = mod(rank + 1, n)
  call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what is supported')

  ! A row of a matrix to a column of one, and back: both orders.
  call fill()
  call MPI_Irecv(b(:, 3), 10, MPI_INTEGER, left, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Send(a(4, :), 10, MPI_INTEGER, right, 0, MPI_COMM_WORLD, e)
  call MPI_Wait(r(1), status, e)
  call MPI_Get_count(status, MPI_INTEGER, count, e)
  call check(count == 10 .and. all(b(1:10, 3) == [(value(left, 4, j), j = 1, 10)]), 'row to column')
  b(1:10, 3) = none
  call check(all(b == none), 'nothing else was written')
  call fill()
  call MPI_Irecv(b(5, :), 10, MPI_INTEGER, left, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Isend(a(1:10, 2), 10, MPI_INTEGER, right, 0, MPI_COMM_WORLD, r(2), e)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
  call check(all(b(5, :) == [(value(left, i, 2), i = 1, 10)]), 'column to row')
  b(5, :) = none
  call check(all(b == none), 'nothing else was written')

  ! Strides in both dimensions, one of them downwards.
  call fill()
  call MPI_Irecv(b(11:1:-2, 2:10:4), 18, MPI_INTEGER, left, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Isend(a(2:12:2, 1:9:4), 18, MPI_INTEGER, right, 0, MPI_COMM_WORLD, r(2), e)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
  flag = .true.
  do j = 0, 2
    do i = 0, 5
      flag = flag .and. b(11 - 2 * i, 2 + 4 * j) == value(left, 2 + 2 * i, 1 + 4 * j)
    end do
  end do
  b(11:1:-2, 2:10:4) = none
  call check(flag .and. all(b == none), 'strides in two dimensions, one downwards')
  do i = 1, 40
    v(i) = 100 * rank + i
  end do
  w = none
  call MPI_Sendrecv(v(40:1:-3), 14, MPI_INTEGER, right, 0, w(2:28:2), 14, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status, e)
  call check(all(w(2:28:2) == [(100 * left + 40 - 3 * i, i = 0, 13)]) .and. all(w(1:29:2) == none), 'a vector downwards')

  ! Three dimensions; fewer elements than the section has; persistent.
  do k = 1, 4
    do j = 1, 5
      do i = 1, 6
        c(i, j, k) = 1000 * rank + 100 * k + 10 * j + i
      end do
    end do
  end do
  d = none
  call MPI_Recv_init(d(1:6:2, 1:5:2, 2:4:2), 17, MPI_INTEGER, left, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Send_init(c(2:6:2, 2:4, 1:4:3), 17, MPI_INTEGER, right, 0, MPI_COMM_WORLD, r(2), e)
  do i = 1, 2
    d = none
    call MPI_Startall(2, r, e)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
    v(1:18) = reshape(c(2:6:2, 2:4, 1:4:3) + 1000 * (left - rank), [18])
    w(1:18) = reshape(d(1:6:2, 1:5:2, 2:4:2), [18])
    call check(all(w(1:17) == v(1:17)) .and. w(18) == none, 'three dimensions, persistent, 17 of 18 elements')
  end do
  call MPI_Request_free(r(1), e)
  call MPI_Request_free(r(2), e)
  d(1:6:2, 1:5:2, 2:4:2) = none
  call check(all(d == none), 'nothing else was written')

  ! Elements of another size than the datatype's; a derived datatype over a section.
  do j = 1, 6
    x(:, j) = [(100d0 * rank + 10 * j + i, i = 1, 8)]
  end do
  y = none
  call MPI_Sendrecv(x(2, :), 48, MPI_BYTE, right, 0, y(7, :), 48, MPI_BYTE, left, 0, MPI_COMM_WORLD, status, e)
  call check(all(y(7, :) == x(2, :) + 100 * (left - rank)), 'bytes of doubles')
  y(7, :) = none
  call check(all(y == none), 'nothing else was written')
  call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, e)
  call MPI_Type_commit(pair, e)
  call MPI_Irecv(y(3, :), 3, pair, left, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Isend(x(2, :), 3, pair, right, 0, MPI_COMM_WORLD, r(2), e)
  do i = 1, 2
    call MPI_Waitany(2, r, j, status, e)
  end do
  call check(all(y(3, :) == x(2, :) + 100 * (left - rank)), 'pairs of doubles, copied')
  y(3, :) = none
  call check(all(y == none), 'nothing else was written')
  call MPI_Type_free(pair, e)

  ! Buffered, probed, replaced.
  call fill()
  call MPI_Buffer_attach(buffer, 4000, e)
  call MPI_Bsend(a(4, :), 10, MPI_INTEGER, right, 0, MPI_COMM_WORLD, e)
  call MPI_Recv(b(5, 1:10), 10, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status, e)
  call check(all(b(5, :) == [(value(left, 4, j), j = 1, 10)]), 'buffered')
  call MPI_Buffer_detach_any()
  call MPI_Sendrecv_replace(a(7, :), 10, MPI_INTEGER, right, 0, left, 0, MPI_COMM_WORLD, status, e)
  call check(all(a(7, :) == [(value(left, 7, j), j = 1, 10)]), 'replaced')

  ! Collectives: whole messages, blocks, reductions.
  call fill()
  if (rank == 0) b(3, :) = 42
  call MPI_Bcast(b(3, :), 10, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  call check(all(b(3, :) == 42), 'MPI_Bcast')
  call MPI_Ibcast(a(2:12:5, 1), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1), e)
  call MPI_Wait(r(1), MPI_STATUS_IGNORE, e)
  call check(all(a(2:12:5, 1) == [(value(0, i, 1), i = 2, 12, 5)]) .and. a(3, 1) == value(rank, 3, 1), 'MPI_Ibcast')
  call fill()
  w = none
  call MPI_Allgather(a(1:12:6, 2), 2, MPI_INTEGER, w(1:40:3), 2, MPI_INTEGER, MPI_COMM_WORLD, e)
  do i = 0, n - 1
    call check(all(w(6 * i + 1:6 * i + 4:3) == [value(i, 1, 2), value(i, 7, 2)]), 'MPI_Allgather')
  end do
  call check(all(w(2:40:3) == none), 'nothing else was written')
  w = none
  call MPI_Allgatherv(a(1, 1:2), 1, MPI_INTEGER, w(2:40:2), [(1, i = 1, n)], [(2 * i, i = 0, n - 1)], MPI_INTEGER, &
      MPI_COMM_WORLD, e)
  call check(all(w(2:4 * n:4) == [(value(i, 1, 1), i = 0, n - 1)]) .and. w(4) == none, 'MPI_Allgatherv')
  ! Elements at different distances: copied.
  call fill()
  call MPI_Alltoall(a(1:7:2, 1:10:3), 2, MPI_INTEGER, b(2:8:2, 2:10:2), 2, MPI_INTEGER, MPI_COMM_WORLD, e)
  call check(b(2, 2) == value(0, merge(1, mod(4 * rank, 8) + 1, rank == 0), 1 + 3 * (rank / 2)), 'MPI_Alltoall')
  b(2:8:2, 2:10:2) = none
  call check(all(b == none), 'nothing else was written')
  call fill()
  call MPI_Allreduce(a(3, :), b(4, :), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  call check(all(b(4, :) == [(sum([(value(k, 3, j), k = 0, n - 1)]), j = 1, 10)]), 'MPI_Allreduce')
  call MPI_Allreduce(MPI_IN_PLACE, a(3, :), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  call check(all(b(4, :) == a(3, :)), 'MPI_Allreduce in place')
  b(4, :) = none
  call check(all(b == none), 'nothing else was written')
  call fill()
  call MPI_Iallreduce(a(3, :), b(4, :), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r(1), e)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(r(1), flag, MPI_STATUS_IGNORE, e)
  end do
  call check(all(b(4, :) == [(value(n - 1, 3, j), j = 1, 10)]), 'MPI_Iallreduce')
  b(4, :) = none
  call check(all(b == none), 'nothing else was written')
  call MPI_Iallreduce(a(3, :), b(4, :), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r(1), e)
  call MPI_Iallreduce(a(5, :), b(6, :), 10, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, r(2), e)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
  call check(all(b(4, :) == [(value(n - 1, 3, j), j = 1, 10)]) .and. all(b(6, :) == [(value(0, 5, j), j = 1, 10)]), &
      'two at a time')
  ! A request that is given up keeps what it works on.
  call MPI_Iallreduce(a(3, :), b(4, :), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r(1), e)
  call MPI_Request_free(r(1), e)
  call check(e == MPI_SUCCESS, 'a request that is given up')
  call MPI_Barrier(MPI_COMM_WORLD, e)

  ! A copy cannot stand in for a buffer that is used again: an error, not wrong data.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  call MPI_Allreduce_init(a(3, :), b(4, :), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r(1), e)
  call MPI_Error_class(e, i, j)
  call check(i == MPI_ERR_UNSUPPORTED_OPERATION, 'a persistent reduction of a section')
  call MPI_Send(a(3, :), 11, MPI_INTEGER, right, 0, MPI_COMM_WORLD, e)
  call MPI_Error_class(e, i, j)
  call check(i == MPI_ERR_COUNT, 'more than the section has')
  call MPI_Buffer_attach(a(3, :), 40, e)
  call MPI_Error_class(e, i, j)
  call check(i == MPI_ERR_BUFFER, 'a buffer with gaps')

  ! Nothing is passed by a section without elements.
  call MPI_Sendrecv(a(5:4, :), 0, MPI_INTEGER, right, 0, b(1:0:2, 3), 0, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status, e)
  call check(e == MPI_SUCCESS, 'empty sections')
  block
    integer, allocatable :: z(:)
    integer, pointer :: p(:, :)
    integer, target :: t(6, 6)
    allocate (z(0))
    call MPI_Sendrecv(z, 0, MPI_INTEGER, right, 0, z, 0, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status, e)
    call check(e == MPI_SUCCESS, 'an empty array')
    t = rank
    p => t(1:5:2, 2:6:2)
    call MPI_Sendrecv_replace(p, 9, MPI_INTEGER, right, 0, left, 0, MPI_COMM_WORLD, status, e)
    call check(all(p == left) .and. all(t(2:6:2, :) == rank), 'a pointer to a section')
  end block
  call report(rank)
  call MPI_Finalize(e)
contains
  integer function value(process, row, column)
    integer, intent(in) :: process, row, column
    value = 10000 * process + 100 * row + column
  end function
  subroutine fill()
    integer :: i, j
    do j = 1, 10
      do i = 1, 12
        a(i, j) = value(rank, i, j)
      end do
    end do
    b = none
  end subroutine
  subroutine MPI_Buffer_detach_any()
#ifdef F08
    use, intrinsic :: iso_c_binding
    type(c_ptr) :: p
    call MPI_Buffer_detach(p, count, e)
#else
    call MPI_Buffer_detach(buffer, count, e)
#endif
  end subroutine
end program
