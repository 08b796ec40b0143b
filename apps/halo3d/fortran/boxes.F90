! A rank's block of the periodic box, and its neighbours.
module boxes
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  implicit none
  private
  public :: box, make_box

  integer, parameter, public :: fields = 3            ! field f moves along axis f
  character, parameter, public :: axis_names(3) = ['x', 'y', 'z']

  ! Along an axis, the rank's own points are numbered from 1 to `points`; 0 and points + 1 are the halo. Way 1 is
  ! towards higher coordinates, way 2 towards lower ones.
  type :: box
    type(MPI_Comm) :: comm
    integer :: ranks = 1, rank = 0
    integer :: procs(3) = 0, points(3) = 0, size(3) = 0   ! along each axis: ranks, points of a rank, points of the box
    integer :: first(3) = 0                               ! points of the box before this rank's
    integer :: neighbour(2, 3) = MPI_PROC_NULL            ! (way, axis): destination of messages that way
    integer :: elements(3) = 0, most = 0                  ! in a message along each axis, and in the longest
    integer :: way = 1                                    ! the one in which the fields move
  end type box

contains

  ! Returns false, with a message that suggests valid numbers, if the ranks or the points cannot be divided as
  ! requested. `procs` and `size` are 0 if not given.
  logical function make_box(procs, size, local, way, b, message) result(good)
    integer, intent(in) :: procs(3), size(3), local(3), way
    type(box), intent(out) :: b
    character(len=:), allocatable, intent(inout) :: message
    integer :: axis, fewer, coordinates(3)
    good = .false.
    call MPI_Comm_size(MPI_COMM_WORLD, b%ranks)
    b%way = way
    b%procs = procs
    if (procs(1) == 0) then
      call MPI_Dims_create(b%ranks, 3, b%procs)
    else if (product(int(procs, int64)) /= b%ranks) then
      message = '--procs ' // text(procs(1)) // ',' // text(procs(2)) // ',' // text(procs(3)) // &
                ' is not the number of ranks, ' // text(b%ranks)
      return
    end if
    b%points = local
    do axis = 1, 3
      if (size(axis) == 0) cycle
      if (mod(size(axis), b%procs(axis)) /= 0) then
        fewer = max(2, size(axis) / b%procs(axis)) * b%procs(axis)
        message = '--size: ' // text(size(axis)) // ' points along ' // axis_names(axis) // ' do not divide into ' // &
                  text(b%procs(axis)) // ' equal blocks; ' // text(fewer) // ' or ' // text(fewer + b%procs(axis)) // &
                  ' would'
        return
      end if
      b%points(axis) = size(axis) / b%procs(axis)
    end do
    if (any(b%points < 2)) then
      message = 'each rank needs at least two points along every axis'
      return
    end if
    if (fields * product(int(b%points, int64)) / minval(b%points) > huge(0)) then
      message = 'a message of three planes would have more than 2147483647 elements; smaller blocks would do'
      return
    end if
    b%size = b%points * b%procs
    b%elements = fields * [b%points(2) * b%points(3), b%points(1) * b%points(3), b%points(1) * b%points(2)]
    b%most = maxval(b%elements)
    call MPI_Cart_create(MPI_COMM_WORLD, 3, b%procs, [.true., .true., .true.], .false., b%comm)
    call MPI_Comm_rank(b%comm, b%rank)
    call MPI_Cart_coords(b%comm, b%rank, 3, coordinates)
    b%first = coordinates * b%points
    do axis = 1, 3
      call MPI_Cart_shift(b%comm, axis - 1, 1, b%neighbour(2, axis), b%neighbour(1, axis))
    end do
    good = .true.
  end function make_box

  pure function text(number) result(digits)
    integer, intent(in) :: number
    character(len=:), allocatable :: digits
    character(len=12) :: buffer
    write (buffer, '(i0)') number
    digits = trim(buffer)
  end function text

end module boxes
