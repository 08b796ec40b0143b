! This compiler's LOGICAL: its size, its two values and the values that it treats as true. The library, which is
! compiled once for all compilers, gets them from these functions.
integer(c_int) function hr_f_logical_size() bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  hr_f_logical_size = storage_size(.true.) / 8
end function

integer(c_int) function hr_f_is_true(address) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_f_pointer
  implicit none
  type(c_ptr), value :: address
  logical, pointer :: flag
  call c_f_pointer(address, flag)
  hr_f_is_true = 0
  if (flag) hr_f_is_true = 1
end function

subroutine hr_f_set_logical(address, number) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_f_pointer
  implicit none
  type(c_ptr), value :: address
  integer(c_int), value :: number
  logical, pointer :: flag
  call c_f_pointer(address, flag)
  flag = number /= 0
end subroutine
