! Flushes output that a program has written and that is still buffered by this compiler's library. The MPI library calls
! it before a process ends without running its exit handlers, as in MPI_Abort.
subroutine hr_f_flush() bind(C)
  use, intrinsic :: iso_fortran_env, only: output_unit, error_unit
  implicit none
  integer, parameter :: last_unit = 99  ! units that programs number themselves, as a rule
  integer :: unit, ignored
  logical :: is_open
  flush (unit=output_unit, iostat=ignored)
  flush (unit=error_unit, iostat=ignored)
  do unit = 0, last_unit
    inquire (unit=unit, opened=is_open, iostat=ignored)
    if (ignored == 0 .and. is_open) flush (unit=unit, iostat=ignored)
  end do
end subroutine
