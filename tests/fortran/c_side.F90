module c_side
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function c_comm_rank(comm) bind(C)
      import
      integer(c_int), value :: comm
    end function
    integer(c_int) function c_comm_size(comm) bind(C)
      import
      integer(c_int), value :: comm
    end function
    integer(c_int) function c_comm_dup(comm) bind(C)
      import
      integer(c_int), value :: comm
    end function
    integer(c_int) function c_type_size(type) bind(C)
      import
      integer(c_int), value :: type
    end function
    integer(c_long) function c_type_extent(type) bind(C)
      import
      integer(c_int), value :: type
    end function
    integer(c_int) function c_group_size(group) bind(C)
      import
      integer(c_int), value :: group
    end function
    integer(c_int) function c_count(status, type) bind(C)
      import
      integer(c_int) :: status(*)
      integer(c_int), value :: type
    end function
    integer(c_int) function c_send(number, to, tag, comm) bind(C)
      import
      integer(c_int), value :: number, to, tag, comm
    end function
    integer(c_int) function c_wait(request) bind(C)
      import
      integer(c_int), value :: request
    end function
    integer(c_long) function c_attribute(comm, keyval) bind(C)
      import
      integer(c_int), value :: comm, keyval
    end function
    integer(c_long) function c_set_attribute(comm, keyval) bind(C)
      import
      integer(c_int), value :: comm, keyval
    end function
    integer(c_int) function c_sum(values, count, op) bind(C)
      import
      integer(c_int) :: values(*)
      integer(c_int), value :: count, op
    end function
    integer(c_int) function c_name_length() bind(C)
      import
    end function
    integer(c_int) function c_info_matches(info, key, expected) bind(C)
      import
      integer(c_int), value :: info
      character(kind=c_char) :: key(*), expected(*)
    end function
    integer(c_int) function c_error_class(code) bind(C)
      import
      integer(c_int), value :: code
    end function
  end interface
end module
