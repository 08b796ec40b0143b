! Profiles of the fields through the middle of a block, the same text as the C++ program's, to be plotted and hashed.
module profiles
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_null_char, c_size_t
  use boxes, only: axis_names
  implicit none
  private
  public :: profile, write_profile

  interface
    ! Formats like C's "%.9g", for which Fortran has no equivalent.
    integer(c_int) function strfromd(text, length, format, value) bind(c)
      import :: c_char, c_double, c_int, c_size_t
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: length
      character(kind=c_char), intent(in) :: format(*)
      real(c_double), value :: value
    end function strfromd
  end interface

contains

  ! Returns one line per point along `axis`, with its coordinate and the values of the three fields.
  function profile(f, axis) result(text)
    real, intent(in) :: f(0:, 0:, 0:, :)
    integer, intent(in) :: axis
    character(len=:), allocatable :: text
    character(len=6) :: coordinate
    integer :: points(3), at(3), i, field
    points = [size(f, 1), size(f, 2), size(f, 3)] - 2
    at = points / 2 + 1
    text = ''
    do i = 1, points(axis)
      at(axis) = i
      write (coordinate, '(i6)') i
      text = text // coordinate
      do field = 1, 3
        text = text // ' ' // nine_digits(f(at(1), at(2), at(3), field))
      end do
      text = text // new_line('a')
    end do
  end function profile

  function nine_digits(value) result(digits)
    real, intent(in) :: value
    character(len=:), allocatable :: digits
    character(len=32) :: text
    integer :: length
    length = strfromd(text, len(text, c_size_t), '%.9g' // c_null_char, real(value, c_double))
    digits = text(:length)
  end function nine_digits

  ! Writes profile_<axis>.<name>.<rank>.txt; returns an empty name if it was written, else that of the file.
  function write_profile(text, directory, axis, name, rank) result(failed)
    character(len=*), intent(in) :: text, directory, name
    integer, intent(in) :: axis, rank
    character(len=:), allocatable :: failed
    character(len=12) :: number
    integer :: unit, error
    write (number, '(i0)') rank
    failed = directory // '/profile_' // axis_names(axis) // '.' // name // '.' // trim(number) // '.txt'
    open (newunit=unit, file=failed, access='stream', form='unformatted', status='replace', action='write', iostat=error)
    if (error /= 0) return
    write (unit, iostat=error) text
    if (error /= 0) return
    close (unit, iostat=error)
    if (error == 0) failed = ''
  end function write_profile

end module profiles
