! Tests whether descriptor.c reads the descriptors of this compiler: mpifort runs this before it builds the modules, as
! it may have found a header of another compiler.
program descriptors
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(C) :: shape_t
    type(c_ptr) :: base
    integer(c_intptr_t) :: element_bytes
    integer(c_int) :: rank
    integer(c_intptr_t) :: extent(15), stride(15)
  end type
  interface
    integer(c_int) function hr_f_describe(array, shape, max_rank) bind(C)
      import
      type(*), dimension(..) :: array
      type(shape_t) :: shape
      integer(c_int), value :: max_rank
    end function
  end interface
  type(shape_t) :: s
  integer(c_int), target :: a(6, 5, 4), b(7)
  a = 0
  if (hr_f_describe(a, s, 15) /= 0 .or. hr_f_describe(b(2), s, 15) /= 0 .or. hr_f_describe(a(:, :, 2:3), s, 15) /= 0) stop 1
  if (hr_f_describe(a(5:1:-2, 2, 1:4:3), s, 15) /= 1) stop 2
  if (s%rank /= 2 .or. any(s%extent(1:2) /= [3, 2]) .or. any(s%stride(1:2) /= [-8, 360])) stop 3
  if (s%element_bytes /= 4 .or. .not. c_associated(s%base, c_loc(a(5, 2, 1)))) stop 4
  call assumed_size(a)
contains
  subroutine assumed_size(x)
    integer(c_int) :: x(6, *)
    if (hr_f_describe(x, s, 15) /= 0) stop 5
  end subroutine
end program
