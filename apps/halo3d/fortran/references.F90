! Expected value of every element after any number of steps: nothing is computed, so field f is its initial field, moved
! along axis f.
!
! Two initial fields, as in the C++ program: a sine period along each axis of each block, and, to find planes of the
! wrong rank, field or way, a different value for every element of the box.
module references
  use, intrinsic :: iso_c_binding, only: c_double
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use boxes, only: box
  implicit none
  private
  public :: reference, make_reference, fill, difference_inside, difference_in_halo

  real, parameter, public :: halo_mark = -1e30            ! no element has this value
  integer(int64), parameter :: identities = 2_int64**24 - 1  ! each of them is exact as a real

  type :: reference
    type(box) :: b
    logical :: identity
    real(real64), allocatable :: sine(:, :)   ! (0-based point, axis)
  end type reference

  interface
    ! C's sine, as those of Fortran compilers may differ in the last bit.
    pure function c_sin(x) bind(c, name='sin')
      import :: c_double
      real(c_double), value :: x
      real(c_double) :: c_sin
    end function c_sin
  end interface

contains

  type(reference) function make_reference(b, identity) result(r)
    type(box), intent(in) :: b
    logical, intent(in) :: identity
    real(real64), parameter :: pi = 3.141592653589793238462643_real64
    integer :: axis, i
    r%b = b
    r%identity = identity
    allocate (r%sine(0:maxval(b%points) - 1, 3), source=0.0_real64)
    do axis = 1, 3
      do i = 0, b%points(axis) - 1
        r%sine(i, axis) = c_sin(2 * pi * i / b%points(axis))
      end do
    end do
  end function make_reference

  ! Returns the 0-based coordinate in the whole box where the value at a rank's own coordinate was `moved` steps
  ! earlier.
  pure integer function origin(b, axis, coordinate, moved)
    type(box), intent(in) :: b
    integer, intent(in) :: axis, coordinate, moved
    origin = modulo(b%first(axis) + coordinate - 1 - merge(1, -1, b%way == 1) * mod(moved, b%size(axis)), b%size(axis))
  end function origin

  ! Returns the initial value of a field at (x, y, z) of the whole box, 0-based.
  pure real function initial(r, field, x, y, z)
    type(reference), intent(in) :: r
    integer, intent(in) :: field, x, y, z
    integer(int64) :: point
    if (r%identity) then
      point = x + r%b%size(1) * (y + r%b%size(2) * int(z, int64))
      initial = real(1 + modulo(point * 3 + field - 1, identities))
    else
      initial = real(field * (r%sine(mod(x, r%b%points(1)), 1) + r%sine(mod(y, r%b%points(2)), 2) + &
                              r%sine(mod(z, r%b%points(3)), 3)))
    end if
  end function initial

  ! Fills this rank's own points, and the halos with halo_mark.
  subroutine fill(r, f)
    type(reference), intent(in) :: r
    real, intent(out) :: f(0:, 0:, 0:, :)
    integer :: i, j, k, field
    f = halo_mark
    do field = 1, 3
      do k = 1, r%b%points(3)
        do j = 1, r%b%points(2)
          do i = 1, r%b%points(1)
            f(i, j, k, field) = initial(r, field, r%b%first(1) + i - 1, r%b%first(2) + j - 1, r%b%first(3) + k - 1)
          end do
        end do
      end do
    end do
  end subroutine fill

  ! Returns a sentence about the first wrong element at this rank's own points after `steps`; empty if all are right.
  function difference_inside(r, f, steps) result(sentence)
    type(reference), intent(in) :: r
    real, intent(in) :: f(0:, 0:, 0:, :)
    integer, intent(in) :: steps
    character(len=:), allocatable :: sentence
    sentence = difference(r, f, steps, [1, 1, 1], r%b%points)
  end function difference_inside

  ! Does the same for the six planes of the halo.
  function difference_in_halo(r, f, steps) result(sentence)
    type(reference), intent(in) :: r
    real, intent(in) :: f(0:, 0:, 0:, :)
    integer, intent(in) :: steps
    character(len=:), allocatable :: sentence
    integer :: axis, side, lo(3), hi(3)
    do axis = 1, 3
      do side = 0, 1
        lo = 1
        hi = r%b%points
        lo(axis) = side * (r%b%points(axis) + 1)
        hi(axis) = lo(axis)
        sentence = difference(r, f, steps, lo, hi)
        if (len(sentence) > 0) return
      end do
    end do
  end function difference_in_halo

  function difference(r, f, steps, lo, hi) result(sentence)
    type(reference), intent(in) :: r
    real, intent(in) :: f(0:, 0:, 0:, :)
    integer, intent(in) :: steps, lo(3), hi(3)
    character(len=:), allocatable :: sentence
    character(len=240) :: text
    integer :: i, j, k, field, moved(3), y, z
    real :: wanted
    sentence = ''
    do field = 1, 3
      moved = 0
      moved(field) = steps
      do k = lo(3), hi(3)
        z = origin(r%b, 3, k, moved(3))
        do j = lo(2), hi(2)
          y = origin(r%b, 2, j, moved(2))
          do i = lo(1), hi(1)
            wanted = initial(r, field, origin(r%b, 1, i, moved(1)), y, z)
            if (transfer(f(i, j, k, field), 0) == transfer(wanted, 0)) cycle
            write (text, '(7(a, i0), a, 2(i0, a), 2(es15.8e2, a))') 'rank ', r%b%rank, ', after ', steps, ' steps: field ', &
              field, ' at (', i, ', ', j, ', ', k, ') of a block of ', r%b%points(1), ' x ', r%b%points(2), ' x ', &
              r%b%points(3), ' (0 is a halo) is ', f(i, j, k, field), ', not ', wanted, ''
            sentence = trim(text)
            return
          end do
        end do
      end do
    end do
  end function difference

end module references
