! Runs one step of the series, from the initial fields to the validated result.
module runs
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  use boxes, only: box
  use hashes, only: md5
  use options, only: settings, step_names
  use profiles, only: profile, write_profile
  use references
  use step_3, only: staged
  use step_4, only: packed
  use step_5, only: isend_recv_x
  use step_6, only: isend_recv
  use step_7, only: isend_irecv
  use step_8, only: overlap
  use step_9, only: overlap_async
  use stopwatches, only: stopwatch
  implicit none
  private
  public :: outcome, run_step

  type :: outcome                                   ! equal on all ranks
    integer :: step = 0
    real(real64) :: seconds = 0                     ! of all steps, on the slowest rank
    type(stopwatch) :: watch                        ! mean over the ranks, of all steps; messages and bytes per step
    logical :: valid = .true.
    character(len=32) :: md5 = ''                   ! of the profiles; `differ` if the ranks' are not the same
  end type outcome

  integer, parameter :: identity_steps = 3

contains

  ! `missing`: a missing resource or an unwritten file; if not empty, there is no result.
  type(outcome) function run_step(set, b, step, missing) result(what)
    type(settings), intent(in) :: set
    type(box), intent(in) :: b
    integer, intent(in) :: step
    character(len=:), allocatable, intent(inout) :: missing
    real, allocatable :: f(:, :, :, :), g(:, :, :, :), out(:, :, :), in(:, :, :)
    integer :: error
    what%step = step
    allocate (f(0:b%points(1) + 1, 0:b%points(2) + 1, 0:b%points(3) + 1, 3), out(b%most, 2, 3), in(b%most, 2, 3), &
              stat=error)
    if (error == 0) allocate (g, mold=f, stat=error)
    call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_INTEGER, MPI_MAX, b%comm)
    if (error /= 0) then
      missing = 'there is not enough memory for the fields; smaller blocks would do'
      return
    end if
    call measure(b, step, make_reference(b, .true.), identity_steps, f, g, out, in, what)
    call measure(b, step, make_reference(b, .false.), set%steps, f, g, out, in, what)
    if (mod(set%steps, 2) == 1) f = g
    call hash(set, b, f, what, missing)
  end function run_step

  ! Fills the fields, moves them, and compares all elements; they are in g after an odd number of steps.
  subroutine measure(b, step, wanted, steps, f, g, out, in, what)
    type(box), intent(in) :: b
    integer, intent(in) :: step, steps
    type(reference), intent(in) :: wanted
    real, intent(inout) :: f(0:, 0:, 0:, :), g(0:, 0:, 0:, :), out(:, :, :), in(:, :, :)
    type(outcome), intent(inout) :: what
    type(stopwatch) :: watch
    character(len=:), allocatable :: difference
    call fill(wanted, f)
    g = halo_mark
    call move(b, b%points(1), b%points(2), b%points(3), b%most, step, steps, f, g, out, in, watch, what%seconds)
    what%watch = watch
    if (mod(steps, 2) == 0) then  ! the last step has filled these halos
      difference = difference_inside(wanted, f, steps)
      if (len(difference) == 0) difference = difference_in_halo(wanted, g, steps - 1)
    else
      difference = difference_inside(wanted, g, steps)
      if (len(difference) == 0) difference = difference_in_halo(wanted, f, steps - 1)
    end if
    if (len(difference) == 0) return
    if (what%valid) write (error_unit, '(4a)') 'halo3d-openacc: ', trim(step_names(step)), ': ', difference
    what%valid = .false.
  end subroutine measure

  ! Keeps the fields and messages on the device for all steps.
  subroutine move(b, l, m, n, most, step, steps, f, g, out, in, watch, seconds)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most, step, steps
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout) :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    real(real64), intent(out) :: seconds
    integer :: done
    !$acc data copy(f, g) create(out, in)
    call MPI_Barrier(b%comm)
    call watch%start()
    seconds = -MPI_Wtime()
    do done = 0, steps - 1
      if (mod(done, 2) == 0) then
        call one(b, l, m, n, most, step, f, g, out, in, watch)
      else
        call one(b, l, m, n, most, step, g, f, out, in, watch)
      end if
    end do
    seconds = seconds + MPI_Wtime()
    !$acc end data
    call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, b%comm)
  end subroutine move

  subroutine one(b, l, m, n, most, step, f, g, out, in, watch)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most, step
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout) :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    select case (step)
    case (3); call staged(b, l, m, n, most, f, g, out, in, watch)
    case (4); call packed(b, l, m, n, most, f, g, out, in, watch)
    case (5); call isend_recv_x(b, l, m, n, most, f, g, out, in, watch)
    case (6); call isend_recv(b, l, m, n, most, f, g, out, in, watch)
    case (7); call isend_irecv(b, l, m, n, most, f, g, out, in, watch)
    case (8); call overlap(b, l, m, n, most, f, g, out, in, watch)
    case (9); call overlap_async(b, l, m, n, most, f, g, out, in, watch)
    end select
  end subroutine one

  ! Hashes the profiles, and combines the results of all ranks.
  subroutine hash(set, b, f, what, missing)
    type(settings), intent(in) :: set
    type(box), intent(in) :: b
    real, intent(in) :: f(0:, 0:, 0:, :)
    type(outcome), intent(inout) :: what
    character(len=:), allocatable, intent(inout) :: missing
    character(len=:), allocatable :: text, one_axis, failed
    character(len=32) :: first
    real(real64) :: values(8)
    logical :: alike, written
    integer :: axis
    text = ''
    written = .true.
    do axis = 1, 3
      one_axis = profile(f, axis)
      text = text // one_axis
      if (len(set%profiles) == 0 .or. .not. written) cycle
      failed = write_profile(one_axis, set%profiles, axis, trim(step_names(what%step)), b%rank)
      written = len(failed) == 0
      if (.not. written) write (error_unit, '(2a)') 'halo3d-openacc: cannot write ', failed
    end do
    call MPI_Allreduce(MPI_IN_PLACE, written, 1, MPI_LOGICAL, MPI_LAND, b%comm)
    if (.not. written) missing = 'not all profiles could be written; a directory that is there would do'
    what%md5 = md5(text)
    first = what%md5
    call MPI_Bcast(first, len(first), MPI_CHARACTER, 0, b%comm)
    alike = first == what%md5
    call MPI_Allreduce(MPI_IN_PLACE, alike, 1, MPI_LOGICAL, MPI_LAND, b%comm)
    call MPI_Allreduce(MPI_IN_PLACE, what%valid, 1, MPI_LOGICAL, MPI_LAND, b%comm)
    what%valid = what%valid .and. alike
    what%md5 = first
    if (.not. alike) what%md5 = 'differ'

    values = [what%watch%part, what%watch%axis, what%watch%messages / set%steps, what%watch%bytes / set%steps]
    call MPI_Allreduce(MPI_IN_PLACE, values, size(values), MPI_DOUBLE_PRECISION, MPI_SUM, b%comm)
    values = values / b%ranks
    what%watch%part = values(1:3)
    what%watch%axis = values(4:6)
    what%watch%messages = values(7)
    what%watch%bytes = values(8)
  end subroutine hash

end module runs
