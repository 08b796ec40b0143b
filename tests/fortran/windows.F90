! Windows: every function of chapter 12.
#include "interfaces.h"
module window_callbacks
  USE_MPI
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  integer, save :: deletes = 0
contains
  subroutine copy_window_attribute(oldwin, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Win) :: oldwin
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    value_out = value_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_window_attribute(win, keyval, value, extra_state, ierror)
    HANDLE(MPI_Win) :: win
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program windows
  USE_MPI
  use checks
  use window_callbacks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: e, rank, n, next, last, m, unit, keyval
  integer(MPI_ADDRESS_KIND) :: bytes, zero, address, value
  integer(MPI_ADDRESS_KIND), allocatable :: addresses(:)
  integer, asynchronous :: memory(8), back(8), operand(2), compared, before
  integer, pointer :: allocated(:)
  logical :: flag
  character(30) :: name
  POINTER_KIND :: base
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_Group) :: group
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Request) :: r
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  next = mod(rank + 1, n)
  last = mod(rank + n - 1, n)
  zero = 0

  ! --- active target, memory of the program's ---
  memory = rank
  bytes = 32
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call MPI_Win_fence(0, win, e)
  operand = [100 + rank, 200 + rank]
  call MPI_Put(operand, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, win, e)
  call MPI_Win_fence(0, win, e)
  call check(memory(1) == 100 + last .and. memory(2) == 200 + last .and. memory(3) == rank, 'MPI_Win_create, MPI_Put')
  call MPI_Get(back, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, win, e)
  call MPI_Win_fence(0, win, e)
  call check(back(1) == 100 + rank .and. back(2) == 200 + rank, 'MPI_Get, MPI_Win_fence')
  call MPI_Accumulate(operand, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, MPI_SUM, win, e)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, e)
  call check(memory(1) == 200 + 2 * last .and. memory(2) == 400 + 2 * last, 'MPI_Accumulate')
  call MPI_Win_get_group(win, group, e)
  call MPI_Group_size(group, m, e)
  call check(m == n, 'MPI_Win_get_group')
  call MPI_Win_post(group, 0, win, e)
  call MPI_Win_start(group, 0, win, e)
  call MPI_Put(rank, 1, MPI_INTEGER, next, zero, 1, MPI_INTEGER, win, e)
  call MPI_Win_complete(win, e)
  call MPI_Win_wait(win, e)
  call check(memory(1) == last, 'MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait')
  call MPI_Win_post(group, 0, win, e)
  call MPI_Win_start(group, 0, win, e)
  call MPI_Win_complete(win, e)
  flag = .false.
  do while (.not. flag)
    call MPI_Win_test(win, flag, e)
  end do
  call check(flag, 'MPI_Win_test')
  call MPI_Group_free(group, e)
  call MPI_Win_set_name(win, ' a window  ', e)
  call MPI_Win_get_name(win, name, m, e)
  call check(scan(name, 'w') > 0 .and. m == len_trim(name), 'MPI_Win_set_name, MPI_Win_get_name')
  call MPI_Win_create_keyval(copy_window_attribute, delete_window_attribute, keyval, zero, e)
  address = 42
  call MPI_Win_set_attr(win, keyval, address, e)
  call MPI_Win_get_attr(win, keyval, value, flag, e)
  call check(flag .and. value == 42, 'MPI_Win_set_attr, MPI_Win_get_attr')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, e)
  call check(flag .and. value == 32, 'MPI_WIN_SIZE')
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, e)
  call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'MPI_WIN_CREATE_FLAVOR')
  call MPI_Win_delete_attr(win, keyval, e)
  call check(deletes == 1, 'MPI_Win_delete_attr, MPI_Win_create_keyval')
  call MPI_Win_free_keyval(keyval, e)
  call check(keyval == MPI_KEYVAL_INVALID, 'MPI_Win_free_keyval')
  call MPI_Win_get_info(win, info, e)
  call MPI_Info_get_nkeys(info, m, e)
  call check(m > 0, 'MPI_Win_get_info')
  call MPI_Win_set_info(win, info, e)
  call check(e == MPI_SUCCESS, 'MPI_Win_set_info')
  call MPI_Info_free(info, e)
  call MPI_Win_free(win, e)
  call check(NUMBER(win) == NUMBER(MPI_WIN_NULL), 'MPI_Win_free')

  ! --- passive target, memory of MPI's ---
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, e)
  call c_f_pointer(ADDRESS_IN(base), allocated, [8])
  allocated = 10 * rank
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, e)
  operand = 7
  call MPI_Fetch_and_op(operand, before, MPI_INTEGER, next, zero, MPI_SUM, win, e)
  call MPI_Win_flush(next, win, e)
  call check(before == 10 * next, 'MPI_Win_allocate, MPI_Win_lock, MPI_Fetch_and_op, MPI_Win_flush')
  compared = 10 * next + 7
  operand = 1000 + rank
  call MPI_Compare_and_swap(operand, compared, before, MPI_INTEGER, next, zero, win, e)
  call MPI_Win_flush_local(next, win, e)
  call check(before == 10 * next + 7, 'MPI_Compare_and_swap, MPI_Win_flush_local')
  call MPI_Get_accumulate(operand, 2, MPI_INTEGER, back, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, MPI_REPLACE, win, e)
  call MPI_Win_unlock(next, win, e)
  call check(back(1) == 1000 + rank .and. back(2) == 10 * next, 'MPI_Get_accumulate, MPI_Win_unlock')
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_Win_lock_all(0, win, e)
  call MPI_Win_sync(win, e)
  call check(allocated(1) == 1000 + last .and. allocated(2) == 1000 + last, 'MPI_Win_lock_all, MPI_Win_sync')
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_Rput(operand, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, win, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call MPI_Win_flush_all(win, e)
  call MPI_Raccumulate(operand, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, MPI_SUM, win, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call MPI_Win_flush_all(win, e)
  call MPI_Rget(back, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, win, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(back(1) == 2000 + 2 * rank, 'MPI_Rput, MPI_Raccumulate, MPI_Rget, MPI_Win_flush_all')
  call MPI_Rget_accumulate(operand, 2, MPI_INTEGER, back, 2, MPI_INTEGER, next, zero, 2, MPI_INTEGER, MPI_NO_OP, win, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call MPI_Win_flush_local_all(win, e)
  call check(back(2) == 2000 + 2 * rank, 'MPI_Rget_accumulate, MPI_Win_flush_local_all')
  call MPI_Win_unlock_all(win, e)
  call MPI_Win_free(win, e)

  ! --- memory that all map ---
  call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_SELF, base, win, e)
  call MPI_Win_shared_query(win, 0, value, unit, base, e)
  call c_f_pointer(ADDRESS_IN(base), allocated, [8])
  allocated = rank
  call check(value == 32 .and. unit == 4 .and. all(allocated == rank), 'MPI_Win_allocate_shared, MPI_Win_shared_query')
  call MPI_Win_free(win, e)

  ! --- Memory that is attached and detached ---
  allocate (addresses(n))
  memory = -1
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call MPI_Win_attach(win, memory, bytes, e)
  call MPI_Get_address(memory, address, e)
  call MPI_Allgather(address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD, e)
  call MPI_Win_fence(0, win, e)
  call MPI_Put(rank, 1, MPI_INTEGER, next, addresses(next + 1), 1, MPI_INTEGER, win, e)
  call MPI_Win_fence(0, win, e)
  call check(memory(1) == last, 'MPI_Win_create_dynamic, MPI_Win_attach')
  call MPI_Win_detach(win, memory, e)
  call check(e == MPI_SUCCESS, 'MPI_Win_detach')
  call MPI_Win_free(win, e)
  call report(rank)
  call MPI_Finalize(e)
end program
