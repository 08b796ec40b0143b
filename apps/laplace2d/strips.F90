! A rank's part of the grid, its initial values, numbers that identify a result, and the rows that neighbours exchange.
!
! The grid has nx * ny points inside walls, columns 0 and nx + 1 and rows 0 and ny + 1, whose values never change. It is
! split along y: a rank has `rows` rows and one more on either side, a neighbour's or a wall.
module strips
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  implicit none
  private
  public :: strip, make_strip, divides, fill, checksum, sum_of, exchange_rows

  type :: strip
    type(MPI_Comm) :: comm
    integer :: ranks = 1, rank = 0
    integer :: nx = 0, ny = 0                                     ! of the whole grid, without walls
    integer :: rows = 0, first = 0                                ! own rows, and the number of the row before them
    integer :: below = MPI_PROC_NULL, above = MPI_PROC_NULL       ! ranks that have the rows before and after
  end type strip

contains

  ! True if ny rows can be split into equal strips; if not, `message` names numbers that can.
  logical function divides(ny, ranks, message)
    integer, intent(in) :: ny, ranks
    character(len=:), allocatable, intent(inout) :: message
    integer :: fewer
    divides = .false.
    if (ranks > ny) then
      message = '--grid: ' // text(ranks) // ' ranks want a row each, but there are ' // text(ny) // &
                ' rows; at most ' // text(ny) // ' ranks, or ' // text(ranks) // ' rows, would do'
    else if (mod(ny, ranks) /= 0) then
      fewer = ny / ranks * ranks
      message = '--grid: ' // text(ny) // ' rows do not divide into ' // text(ranks) // ' equal strips; ' // &
                text(fewer) // ' or ' // text(fewer + ranks) // ' rows would'
    else
      divides = .true.
    end if
  end function divides

  pure function text(number) result(digits)
    integer, intent(in) :: number
    character(len=:), allocatable :: digits
    character(len=12) :: buffer
    write (buffer, '(i0)') number
    digits = trim(buffer)
  end function text

  type(strip) function make_strip(comm, nx, ny) result(s)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: nx, ny
    s%comm = comm
    call MPI_Comm_size(comm, s%ranks)
    call MPI_Comm_rank(comm, s%rank)
    s%nx = nx
    s%ny = ny
    s%rows = ny / s%ranks
    s%first = s%rank * s%rows
    if (s%rank > 0) s%below = s%rank - 1
    if (s%rank < s%ranks - 1) s%above = s%rank + 1
  end function make_strip

  ! Returns a pseudo-random value from 0 to 1 that depends on the position in the grid, not on the number of ranks.
  pure real(real64) function initial(x, y)
    integer, intent(in) :: x, y
    integer(int64), parameter :: modulus = 2147483647_int64
    integer(int64) :: state
    integer :: round
    state = modulo(int(x, int64) * 7919_int64 + int(y, int64) * 15485863_int64 + 1_int64, modulus)
    do round = 1, 3
      state = modulo(ieor(state, ishft(state, -15)) * 48271_int64 + 11_int64, modulus)
    end do
    initial = real(state, real64) / real(modulus, real64)
  end function initial

  subroutine fill(s, u)
    type(strip), intent(in) :: s
    real(real64), intent(out) :: u(0:, 0:)
    integer :: x, y
    do y = 0, s%rows + 1
      do x = 0, s%nx + 1
        u(x, y) = initial(x, s%first + y)
      end do
    end do
  end subroutine fill

  ! Returns a checksum of every bit of every point, the same however the grid is split.
  integer(int64) function checksum(s, u)
    type(strip), intent(in) :: s
    real(real64), intent(in) :: u(0:, 0:)
    integer(int64) :: place
    integer :: x, y
    checksum = 0
    do y = 1, s%rows
      do x = 1, s%nx
        place = int(s%first + y, int64) * s%nx + x
        checksum = ieor(checksum, ishftc(transfer(u(x, y), 0_int64), int(modulo(place * 29_int64, 61_int64))))
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, checksum, 1, MPI_INTEGER8, MPI_BXOR, s%comm)
  end function checksum

  ! Returns the sum of all points in whole billionths, which does not depend on the order.
  real(real64) function sum_of(s, u)
    type(strip), intent(in) :: s
    real(real64), intent(in) :: u(0:, 0:)
    integer(int64) :: total
    integer :: x, y
    total = 0
    do y = 1, s%rows
      do x = 1, s%nx
        total = total + nint(u(x, y) * 1e9_real64, int64)
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_SUM, s%comm)
    sum_of = real(total, real64) * 1e-9_real64
  end function sum_of

  ! Exchanges edge rows with the neighbours. `u` may be device memory: as its shape is explicit, only its address is
  ! passed, which only MPI uses.
  subroutine exchange_rows(s, nx, rows, u)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows
    real(real64), intent(inout) :: u(0:nx + 1, 0:rows + 1)
    call MPI_Sendrecv(u(1:nx, 1), nx, MPI_DOUBLE_PRECISION, s%below, 0, u(1:nx, rows + 1), nx, MPI_DOUBLE_PRECISION, &
                      s%above, 0, s%comm, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(1:nx, rows), nx, MPI_DOUBLE_PRECISION, s%above, 1, u(1:nx, 0), nx, MPI_DOUBLE_PRECISION, &
                      s%below, 1, s%comm, MPI_STATUS_IGNORE)
  end subroutine exchange_rows

end module strips
