! Point-to-point communication: every function, on a ring.
#include "interfaces.h"
program messages
  USE_MPI
  use checks
  use c_side
  implicit none
  INCLUDE_MPI
  integer :: e, rank, n, m, i, left, right, x(4), y(4), indices(4), done
  logical :: flag
  integer, target :: space(4096)
  double precision :: d(2)
  HANDLE(MPI_Comm) :: comm, dup
  HANDLE(MPI_Request) :: r, requests(4)
  HANDLE(MPI_Message) :: message
  STATUS_OF(status)
  STATUSES_OF(statuses, 4)
  type(c_ptr) :: where
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, e)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, e)
  left = mod(rank - 1 + n, n)
  right = mod(rank + 1, n)

  ! Blocking sends match receives that were posted before.
  call post()
  call MPI_Send(x, 4, MPI_INTEGER, right, 1, comm, e)
  call complete('MPI_Send')
  call post()
  call MPI_Ssend(x, 4, MPI_INTEGER, right, 1, comm, e)
  call complete('MPI_Ssend')
  call post()
  call MPI_Barrier(comm, e)
  call MPI_Rsend(x, 4, MPI_INTEGER, right, 1, comm, e)
  call complete('MPI_Rsend')
  call MPI_Comm_attach_buffer(comm, space, 4 * size(space), e)
  call post()
  call MPI_Bsend(x, 4, MPI_INTEGER, right, 1, comm, e)
  call complete('MPI_Bsend')
  call post()
  call MPI_Ibsend(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call complete('MPI_Ibsend')
  call MPI_Bsend_init(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call post()
  call again('MPI_Bsend_init')
  call MPI_Comm_flush_buffer(comm, e)
  call MPI_Comm_iflush_buffer(comm, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(e == MPI_SUCCESS, 'MPI_Comm_flush_buffer, MPI_Comm_iflush_buffer')
#ifdef F08
  call MPI_Comm_detach_buffer(comm, where, m, e)
  call check(transfer(where, 0_8) == loc(space), 'address of the buffer')
#else
  call MPI_Comm_detach_buffer(comm, space, m, e)
#endif
  call check(m == 4 * size(space), 'MPI_Comm_detach_buffer')
  call MPI_Buffer_attach(space, 4 * size(space), e)
  call post()
  call MPI_Bsend(x, 4, MPI_INTEGER, right, 1, comm, e)
  call complete('MPI_Buffer_attach')
  call MPI_Buffer_flush(e)
  call MPI_Buffer_iflush(r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
#ifdef F08
  call MPI_Buffer_detach(where, m, e)
#else
  call MPI_Buffer_detach(space, m, e)
#endif
  call check(m == 4 * size(space), 'MPI_Buffer_detach')

  call post()
  call MPI_Isend(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call MPI_Wait(r, status, e)
  call complete('MPI_Isend')
  call post()
  call MPI_Issend(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call complete('MPI_Issend')
  call MPI_Wait(r, status, e)
  call post()
  call MPI_Barrier(comm, e)
  call MPI_Irsend(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call MPI_Wait(r, status, e)
  call complete('MPI_Irsend')
  call post()
  call MPI_Send_init(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call again('MPI_Send_init')
  call post()
  call MPI_Ssend_init(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call again('MPI_Ssend_init')
  call post()
  call MPI_Barrier(comm, e)
  call MPI_Rsend_init(x, 4, MPI_INTEGER, right, 1, comm, r, e)
  call again('MPI_Rsend_init')

  ! Receives.
  call reset()
  call MPI_Isend(x, 4, MPI_INTEGER, right, 2, comm, r, e)
  call MPI_Recv(y, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status, e)
  call check(SOURCE(status) == left .and. TAG(status) == 2, 'the status of MPI_Recv')
  call MPI_Get_count(status, MPI_INTEGER, m, e)
  call check(m == 4 .and. all(y == left), 'MPI_Recv, MPI_Get_count')
#ifndef F08
  call check(c_count(status, NUMBER(MPI_INTEGER)) == 4, 'the same status in C')
#endif
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call reset()
  call MPI_Recv_init(y, 4, MPI_INTEGER, left, 3, comm, requests(1), e)
  call MPI_Send_init(x, 4, MPI_INTEGER, right, 3, comm, requests(2), e)
  call MPI_Startall(2, requests, e)
  call MPI_Waitall(2, requests, statuses, e)
  call check(all(y == left) .and. SOURCE_AT(statuses, 1) == left, 'MPI_Recv_init, MPI_Startall, MPI_Waitall')
  call MPI_Request_free(requests(1), e)
  call MPI_Request_free(requests(2), e)
  call check(NUMBER(requests(1)) == NUMBER(MPI_REQUEST_NULL), 'MPI_Request_free')
  call reset()
  call MPI_Sendrecv(x, 4, MPI_INTEGER, right, 4, y, 4, MPI_INTEGER, left, 4, comm, status, e)
  call check(all(y == left) .and. SOURCE(status) == left, 'MPI_Sendrecv')
  call MPI_Sendrecv_replace(x, 4, MPI_INTEGER, right, 4, left, 4, comm, status, e)
  call check(all(x == left), 'MPI_Sendrecv_replace')
  call reset()
  call MPI_Isendrecv(x, 4, MPI_INTEGER, right, 4, y, 4, MPI_INTEGER, left, 4, comm, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(all(y == left), 'MPI_Isendrecv')
  call MPI_Isendrecv_replace(x, 4, MPI_INTEGER, right, 4, left, 4, comm, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(all(x == left), 'MPI_Isendrecv_replace')

  ! Probes.
  call reset()
  call MPI_Isend(x, 3, MPI_INTEGER, right, 5, comm, r, e)
  call MPI_Probe(left, 5, comm, status, e)
  call MPI_Get_count(status, MPI_INTEGER, m, e)
  call check(m == 3, 'MPI_Probe')
  call MPI_Iprobe(left, 5, comm, flag, status, e)
  call check(flag .and. SOURCE(status) == left, 'MPI_Iprobe')
  call MPI_Mprobe(left, 5, comm, message, status, e)
  call MPI_Iprobe(left, 5, comm, flag, MPI_STATUS_IGNORE, e)
  call check(.not. flag, 'MPI_Iprobe of nothing')
  call MPI_Mrecv(y, 4, MPI_INTEGER, message, status, e)
  call check(all(y(1:3) == left) .and. y(4) == -1 .and. NUMBER(message) == NUMBER(MPI_MESSAGE_NULL), 'MPI_Mrecv')
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call reset()
  call MPI_Isend(x, 3, MPI_INTEGER, right, 6, comm, r, e)
  flag = .false.
  do while (.not. flag)
    call MPI_Improbe(MPI_ANY_SOURCE, 6, comm, flag, message, status, e)
  end do
  call MPI_Imrecv(y, 4, MPI_INTEGER, message, requests(1), e)
  call MPI_Wait(requests(1), status, e)
  call check(all(y(1:3) == left), 'MPI_Improbe, MPI_Imrecv')
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)

  ! Completion: indices count from 1.
  call several(3)
  call MPI_Waitany(3, requests, i, status, e)
  call check(i == 3 .and. TAG(status) == 13, 'MPI_Waitany')
  call MPI_Waitany(3, requests, i, status, e)
  call check(i == MPI_UNDEFINED, 'MPI_Waitany of nothing')
  call several(2)
  call until_any()
  call check(i == 2 .and. TAG(status) == 12, 'MPI_Testany')
  call several(1)
  call MPI_Waitsome(3, requests, done, indices, statuses, e)
  call check(done == 1 .and. indices(1) == 1 .and. SOURCE_AT(statuses, 1) == left, 'MPI_Waitsome')
  call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE, e)
  call check(done == MPI_UNDEFINED, 'MPI_Waitsome of nothing')
  call several(3)
  done = 0
  do while (done == 0)
    call MPI_Testsome(3, requests, done, indices, MPI_STATUSES_IGNORE, e)
  end do
  call check(done == 1 .and. indices(1) == 3, 'MPI_Testsome')
  call several(2)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(3, requests, flag, statuses, e)
  end do
  call check(SOURCE_AT(statuses, 2) == left, 'MPI_Testall')
  call several(2)
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status_all(3, requests, flag, MPI_STATUSES_IGNORE, e)
  end do
  call MPI_Request_get_status_any(3, requests, i, flag, status, e)
  call check(flag .and. i == 2, 'MPI_Request_get_status_any')
  call MPI_Request_get_status_some(3, requests, done, indices, MPI_STATUSES_IGNORE, e)
  call check(done == 1 .and. indices(1) == 2, 'MPI_Request_get_status_some')
  call MPI_Request_get_status(requests(2), flag, status, e)
  call check(flag .and. NUMBER(requests(2)) /= NUMBER(MPI_REQUEST_NULL), 'MPI_Request_get_status')
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(2), flag, status, e)
  end do
  call check(TAG(status) == 12, 'MPI_Test')

  ! A receive without a message.
  call MPI_Irecv(y, 4, MPI_INTEGER, left, 99, comm, r, e)
  call MPI_Cancel(r, e)
  call MPI_Wait(r, status, e)
  call MPI_Test_cancelled(status, flag, e)
  call check(flag, 'MPI_Cancel, MPI_Test_cancelled')
  call MPI_Recv(y, 4, MPI_INTEGER, MPI_PROC_NULL, 0, comm, status, e)
  call check(SOURCE(status) == MPI_PROC_NULL, 'MPI_PROC_NULL')

  ! Between the languages, in one program.
  call MPI_Irecv(y, 1, MPI_INTEGER, left, 7, comm, r, e)
  i = c_send(100 + rank, right, 7, NUMBER(comm))
  i = c_wait(NUMBER(r))
  call check(i == 1 .and. y(1) == 100 + left, 'a message from C; a request completed in C')
  NUMBER(dup) = c_comm_dup(NUMBER(comm))
  call MPI_Comm_rank(dup, m, e)
  call check(m == c_comm_rank(NUMBER(dup)) .and. m == rank, 'a communicator made in C')
  call MPI_Comm_free(dup, e)

  ! One element for an array, and an array of the program's own shape.
  block
    integer :: face(2, 2, 2)
    face = rank
    call MPI_Sendrecv_replace(face(1, 1, 2), 4, MPI_INTEGER, right, 1, left, 1, comm, status, e)
    call check(all(face(:, :, 2) == left) .and. all(face(:, :, 1) == rank), 'one element for an array')
    call old_routine(face)
  end block
  d = rank + 0.5d0
  call MPI_Bcast(d, 2, MPI_DOUBLE_PRECISION, 0, comm, e)
  call check(all(d == 0.5d0), 'double precision')

  ! Errors are returned in ierror.
  call MPI_Send(x, -1, MPI_INTEGER, right, 1, comm, e)
  call check(c_error_class(e) == MPI_ERR_COUNT, 'a negative count')

  call MPI_Comm_free(comm, e)
  call report(rank)
  call MPI_Finalize(e)
contains
  subroutine reset()
    x = rank
    y = -1
  end subroutine
  subroutine post()
    call reset()
    call MPI_Irecv(y, 4, MPI_INTEGER, left, 1, comm, requests(4), e)
  end subroutine
  subroutine complete(what)
    character(*), intent(in) :: what
    call check(e == MPI_SUCCESS, what // ': ierror')
    call MPI_Wait(requests(4), status, e)
    call check(all(y == left) .and. SOURCE(status) == left, what)
  end subroutine
  subroutine again(what)
    character(*), intent(in) :: what
    integer :: k
    do k = 1, 2
      if (k == 2) call post()
      if (k == 2) call MPI_Barrier(comm, e)
      call MPI_Start(r, e)
      call MPI_Wait(r, MPI_STATUS_IGNORE, e)
      call complete(what)
    end do
    call MPI_Request_free(r, e)
  end subroutine
  subroutine several(active)
    integer, intent(in) :: active
    call reset()
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(y, 4, MPI_INTEGER, left, 10 + active, comm, requests(active), e)
    call MPI_Send(x, 4, MPI_INTEGER, right, 10 + active, comm, e)
  end subroutine
  subroutine until_any()
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(3, requests, i, flag, status, e)
    end do
  end subroutine
  subroutine old_routine(a)
    integer :: a(*)
    a(1:8) = rank
    call MPI_Sendrecv_replace(a, 8, MPI_INTEGER, right, 1, left, 1, comm, status, e)
    call check(all(a(1:8) == left), 'an assumed-size array')
  end subroutine
end program
