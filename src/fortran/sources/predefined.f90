! Procedures of MPI that programs pass as arguments (MPI 5.0 sections 7.7 and 16.1).
subroutine MPI_COMM_DUP_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  value_out = value_in
  flag = .true.
  ierror = 0
end subroutine

subroutine MPI_COMM_NULL_COPY_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  flag = .false.
  ierror = 0
end subroutine

subroutine MPI_COMM_NULL_DELETE_FN(object, keyval, value, extra_state, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: value, extra_state
  ierror = 0
end subroutine

subroutine MPI_TYPE_DUP_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  value_out = value_in
  flag = .true.
  ierror = 0
end subroutine

subroutine MPI_TYPE_NULL_COPY_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  flag = .false.
  ierror = 0
end subroutine

subroutine MPI_TYPE_NULL_DELETE_FN(object, keyval, value, extra_state, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: value, extra_state
  ierror = 0
end subroutine

subroutine MPI_WIN_DUP_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  value_out = value_in
  flag = .true.
  ierror = 0
end subroutine

subroutine MPI_WIN_NULL_COPY_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: extra_state, value_in, value_out
  logical :: flag
  flag = .false.
  ierror = 0
end subroutine

subroutine MPI_WIN_NULL_DELETE_FN(object, keyval, value, extra_state, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer :: object, keyval, ierror
  integer(c_intptr_t) :: value, extra_state
  ierror = 0
end subroutine

subroutine MPI_DUP_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  implicit none
  integer :: object, keyval, ierror
  integer :: extra_state, value_in, value_out
  logical :: flag
  value_out = value_in
  flag = .true.
  ierror = 0
end subroutine

subroutine MPI_NULL_COPY_FN(object, keyval, extra_state, value_in, value_out, flag, ierror)
  implicit none
  integer :: object, keyval, ierror
  integer :: extra_state, value_in, value_out
  logical :: flag
  flag = .false.
  ierror = 0
end subroutine

subroutine MPI_NULL_DELETE_FN(object, keyval, value, extra_state, ierror)
  implicit none
  integer :: object, keyval, ierror
  integer :: value, extra_state
  ierror = 0
end subroutine

! Never called: it is passed to say that there is no conversion.
subroutine MPI_CONVERSION_FN_NULL()
end subroutine

subroutine MPI_CONVERSION_FN_NULL_C()
end subroutine

! Returns their addresses, for the library.
type(c_funptr) function hr_f_no_conversion(large) bind(C)
  use, intrinsic :: iso_c_binding, only: c_funptr, c_funloc, c_int
  implicit none
  integer(c_int), value :: large
  external :: MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL_C
  hr_f_no_conversion = c_funloc(MPI_CONVERSION_FN_NULL)
  if (large /= 0) hr_f_no_conversion = c_funloc(MPI_CONVERSION_FN_NULL_C)
end function
