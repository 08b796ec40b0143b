! Environment, info objects, errors, attributes, the ABI's questions, sessions, generalized requests.
#include "interfaces.h"
module callbacks
  USE_MPI
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  integer, save :: copies = 0, deletes = 0, errors_seen = 0, last_error = 0, queried = 0, freed = 0, cancelled = 0
contains
  subroutine copy_attribute(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Comm) :: oldcomm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra_state
    flag = value_in /= 13
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_attribute(comm, keyval, value, extra_state, ierror)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deletes = deletes + 1
    ierror = MPI_SUCCESS
    if (value == 99) ierror = MPI_ERR_OTHER
  end subroutine
  subroutine copy_type_attribute(oldtype, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Datatype) :: oldtype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_type_attribute(datatype, keyval, value, extra_state, ierror)
    HANDLE(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
#ifndef F08
  subroutine copy_small(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: oldcomm, keyval, extra_state, value_in, value_out, ierror
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_small(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, value, extra_state, ierror
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
#endif
  subroutine comm_error(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code
    errors_seen = errors_seen + 1
    last_error = code
  end subroutine
  subroutine session_error(session, code)
    HANDLE(MPI_Session) :: session
    integer :: code
    errors_seen = errors_seen + 1
    last_error = code
  end subroutine
  subroutine win_error(win, code)
    HANDLE(MPI_Win) :: win
    integer :: code
    errors_seen = errors_seen + 1
  end subroutine
  subroutine file_error(file, code)
    HANDLE(MPI_File) :: file
    integer :: code
    errors_seen = errors_seen + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    STATUS_OF(status)
    integer :: ierror
    queried = queried + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    SOURCE(status) = 0
    TAG(status) = 21
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    cancelled = cancelled + merge(10, 1, complete)
    ierror = MPI_SUCCESS
  end subroutine
end module

program environment
  use callbacks
  use checks
  use c_side
  implicit none
  integer :: e, rank, size, n, m, provided, keyval, code, class
  logical :: flag
  character(4) :: short
  character(MPI_MAX_PROCESSOR_NAME) :: name
  character(MPI_MAX_LIBRARY_VERSION_STRING) :: version
  character(MPI_MAX_ERROR_STRING) :: text
  character(40) :: key, value
  HANDLE(MPI_Info) :: info, info2
  HANDLE(MPI_Errhandler) :: handler, handler2
  HANDLE(MPI_Comm) :: comm, parent
  HANDLE(MPI_Datatype) :: type, type2
  HANDLE(MPI_Session) :: session
  HANDLE(MPI_Group) :: group
  HANDLE(MPI_Request) :: request
  HANDLE(MPI_Message) :: message
  STATUS_OF(status)
  integer(MPI_ADDRESS_KIND) :: attribute, extra, bytes
  POINTER_KIND :: base
  type(c_ptr) :: where
  integer, pointer :: memory(:)
  double precision :: t
  integer, target :: space(1000)

  call MPI_Initialized(flag, e)
  call check(.not. flag, 'MPI_Initialized before')
  call MPI_Get_version(n, m, e)
  call check(n == MPI_VERSION .and. m == MPI_SUBVERSION, 'MPI_Get_version')
  call MPI_Get_library_version(version, n, e)
  call check(index(version(1:n), 'Headrace') == 1 .and. version(n+1:) == ' ', 'MPI_Get_library_version')
  call MPI_Abi_get_version(n, m, e)
  call check(n == MPI_ABI_VERSION .and. m == MPI_ABI_SUBVERSION, 'MPI_Abi_get_version')
  call MPI_Abi_get_info(info, e)
  call check(c_info_matches(NUMBER(info), 'mpi_aint_size' // c_null_char, '8' // c_null_char) == 1, 'MPI_Abi_get_info')
  call MPI_Info_free(info, e)
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, e)
  call check(e == MPI_SUCCESS .and. provided >= MPI_THREAD_SERIALIZED, 'MPI_Init_thread')
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  call MPI_Query_thread(n, e)
  call check(n == provided, 'MPI_Query_thread')
  call MPI_Is_thread_main(flag, e)
  call check(flag, 'MPI_Is_thread_main')
  call MPI_Finalized(flag, e)
  call check(.not. flag, 'MPI_Finalized')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  call check(rank == c_comm_rank(NUMBER(MPI_COMM_WORLD)) .and. size == c_comm_size(NUMBER(MPI_COMM_WORLD)), 'rank, size')

  call MPI_Abi_get_fortran_info(info, e)
  call check(NUMBER(info) /= NUMBER(MPI_INFO_NULL), 'MPI_Abi_get_fortran_info')
  call check(c_info_matches(NUMBER(info), 'mpi_logical_size' // c_null_char, '4' // c_null_char) == 1, 'size of logicals')
  call MPI_Abi_set_fortran_info(info, e)
  call check(c_error_class(e) == MPI_ERR_ABI, 'MPI_Abi_set_fortran_info a second time')
  call MPI_Info_free(info, e)
  block
    logical :: yes, no
    yes = .false.
    no = .true.
    call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag, e)
    call check(flag .and. yes .and. .not. no, 'MPI_Abi_get_fortran_booleans')
    call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, .true., .false., e)
    call check(c_error_class(e) == MPI_ERR_ABI, 'MPI_Abi_set_fortran_booleans a second time')
  end block

  call MPI_Get_processor_name(short, n, e)
  call check(n <= 4 .and. len_trim(short) == n, 'MPI_Get_processor_name, short variable')
  name = repeat('x', len(name))
  call MPI_Get_processor_name(name, n, e)
  call check(n == c_name_length() .and. len_trim(name) == n, 'MPI_Get_processor_name')
  t = MPI_Wtime()
  call check(MPI_Wtime() >= t .and. MPI_Wtick() > 0 .and. MPI_Wtick() < 1, 'MPI_Wtime, MPI_Wtick')
  call MPI_Pcontrol(1)

  ! Memory.
  bytes = 400
#ifdef MPIF
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, e)
  where = transfer(base, c_null_ptr)
#else
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, where, e)
#endif
  call check(e == MPI_SUCCESS .and. c_associated(where), 'MPI_Alloc_mem')
  call c_f_pointer(where, memory, [100])
  memory = 7
  call MPI_Free_mem(memory, e)
  call check(e == MPI_SUCCESS, 'MPI_Free_mem')
#ifndef F08
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, e)
  call check(e == MPI_SUCCESS .and. base /= 0, 'MPI_Alloc_mem, as an integer')
  where = transfer(base, c_null_ptr)
  call c_f_pointer(where, memory, [100])
  call MPI_Free_mem(memory, e)
#endif
  call MPI_Get_hw_resource_info(info, e)
  call check(e == MPI_SUCCESS, 'MPI_Get_hw_resource_info')
  call MPI_Info_free(info, e)

  ! Info objects: blanks around keys and values mean nothing.
  call MPI_Info_create(info, e)
  call MPI_Info_set(info, '  colour ', ' dark red  ', e)
  call check(c_info_matches(NUMBER(info), 'colour' // c_null_char, 'dark red' // c_null_char) == 1, 'MPI_Info_set')
  call MPI_Info_set(info, 'size', '12', e)
  call MPI_Info_get_nkeys(info, n, e)
  call check(n == 2, 'MPI_Info_get_nkeys')
  call MPI_Info_get_nthkey(info, 1, key, e)
  call check(key == 'size', 'MPI_Info_get_nthkey')
  n = len(value)
  call MPI_Info_get_string(info, 'colour', n, value, flag, e)
  call check(flag .and. value == 'dark red' .and. n == 8, 'MPI_Info_get_string')
  value = 'untouched'
  call MPI_Info_get_string(info, 'absent', n, value, flag, e)
  call check(.not. flag .and. value == 'untouched', 'MPI_Info_get_string, no key')
  call MPI_Info_get(info, 'colour', len(value), value, flag, e)
  call check(flag .and. value == 'dark red', 'MPI_Info_get')
  call MPI_Info_get_valuelen(info, 'colour', n, flag, e)
  call check(flag .and. n == 8, 'MPI_Info_get_valuelen')
  call MPI_Info_dup(info, info2, e)
  call MPI_Info_delete(info2, 'size', e)
  call MPI_Info_get_nkeys(info2, n, e)
  call check(n == 1, 'MPI_Info_dup, MPI_Info_delete')
  call MPI_Info_free(info2, e)
  call check(NUMBER(info2) == NUMBER(MPI_INFO_NULL), 'MPI_Info_free')
  call MPI_Info_free(info, e)
  call MPI_Info_create_env(info, e)
  call check(e == MPI_SUCCESS .and. NUMBER(info) /= NUMBER(MPI_INFO_NULL), 'MPI_Info_create_env')
  call MPI_Info_free(info, e)

  ! Errors.
  call MPI_Add_error_class(class, e)
  call MPI_Add_error_code(class, code, e)
  call MPI_Add_error_string(code, 'my own error   ', e)
  call MPI_Error_string(code, text, n, e)
  call check(text == 'my own error' .and. n == 12, 'MPI_Add_error_string, MPI_Error_string')
  call MPI_Error_class(code, n, e)
  call check(n == class, 'MPI_Error_class')
  call MPI_Remove_error_string(code, e)
  call MPI_Remove_error_code(code, e)
  call MPI_Remove_error_class(class, e)
  call check(e == MPI_SUCCESS, 'MPI_Remove_error_class')
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, e)
  call MPI_Comm_create_errhandler(comm_error, handler, e)
  call MPI_Comm_set_errhandler(comm, handler, e)
  call MPI_Comm_get_errhandler(comm, handler2, e)
  call check(NUMBER(handler) == NUMBER(handler2), 'MPI_Comm_get_errhandler')
  call MPI_Errhandler_free(handler2, e)
  call MPI_Errhandler_free(handler, e)
  call check(NUMBER(handler) == NUMBER(MPI_ERRHANDLER_NULL), 'MPI_Errhandler_free')
  call MPI_Send(n, 1, MPI_INTEGER, size + 5, 0, comm, e)
  call check(errors_seen == 1 .and. c_error_class(last_error) == MPI_ERR_RANK, 'the error handler was called')
  call check(c_error_class(e) == MPI_ERR_RANK, 'ierror')
  call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER, e)
  call check(errors_seen == 2 .and. last_error == MPI_ERR_OTHER, 'MPI_Comm_call_errhandler')
  call MPI_Win_create_errhandler(win_error, handler, e)
  call check(e == MPI_SUCCESS, 'MPI_Win_create_errhandler')
  call MPI_Errhandler_free(handler, e)
  call MPI_File_create_errhandler(file_error, handler, e)
  call check(e == MPI_SUCCESS, 'MPI_File_create_errhandler')
  call MPI_Errhandler_free(handler, e)
  call MPI_Win_set_errhandler(MPI_WIN_NULL, MPI_ERRORS_RETURN, e)
  call check(e /= MPI_SUCCESS, 'MPI_Win_set_errhandler')
  call MPI_Win_get_errhandler(MPI_WIN_NULL, handler, e)
  call check(e /= MPI_SUCCESS, 'MPI_Win_get_errhandler')
  call MPI_Win_call_errhandler(MPI_WIN_NULL, MPI_ERR_OTHER, e)
  call check(e /= MPI_SUCCESS, 'MPI_Win_call_errhandler')
  call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, e)
  call check(e == MPI_SUCCESS, 'MPI_File_set_errhandler')
  call MPI_File_get_errhandler(MPI_FILE_NULL, handler, e)
  call check(NUMBER(handler) == NUMBER(MPI_ERRORS_RETURN), 'MPI_File_get_errhandler')
  call MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER, e)
  call check(e == MPI_SUCCESS, 'MPI_File_call_errhandler')

  ! Attributes.
  extra = 100
  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, extra, e)
  attribute = 5
  call MPI_Comm_set_attr(comm, keyval, attribute, e)
  attribute = 0
  call MPI_Comm_get_attr(comm, keyval, attribute, flag, e)
  call check(flag .and. attribute == 5, 'MPI_Comm_get_attr')
  call check(c_attribute(NUMBER(comm), keyval) == 5, 'an attribute from Fortran in C')
  call MPI_Comm_dup(comm, parent, e)
  call MPI_Comm_get_attr(parent, keyval, attribute, flag, e)
  call check(copies == 1 .and. flag .and. attribute == 105, 'copied with extra_state')
  call MPI_Comm_free(parent, e)
  call check(deletes == 1, 'deleted with the communicator')
  attribute = 13
  call MPI_Comm_set_attr(comm, keyval, attribute, e)
  call check(deletes == 2, 'deleted by another value')
  call MPI_Comm_dup(comm, parent, e)
  call MPI_Comm_get_attr(parent, keyval, attribute, flag, e)
  call check(.not. flag, 'flag = .false. in the copy function')
  call MPI_Comm_free(parent, e)
  call MPI_Comm_delete_attr(comm, keyval, e)
  call check(deletes == 3, 'MPI_Comm_delete_attr')
  attribute = c_set_attribute(NUMBER(comm), keyval)
  call MPI_Comm_get_attr(comm, keyval, extra, flag, e)
  call check(flag .and. extra == attribute, 'an attribute from C in Fortran')
  call MPI_Comm_delete_attr(comm, keyval, e)
  call MPI_Comm_free_keyval(keyval, e)
  call check(keyval == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, e)
  attribute = -9
  call MPI_Comm_set_attr(comm, keyval, attribute, e)
  call MPI_Comm_dup(comm, parent, e)
  call MPI_Comm_get_attr(parent, keyval, attribute, flag, e)
  call check(flag .and. attribute == -9, 'MPI_COMM_DUP_FN')
  call MPI_Comm_free(parent, e)
  call MPI_Comm_free_keyval(keyval, e)
  call MPI_Comm_get_attr(comm, MPI_TAG_UB, attribute, flag, e)
  call check(flag .and. attribute == huge(n), 'MPI_TAG_UB')
  call MPI_Type_create_keyval(copy_type_attribute, delete_type_attribute, keyval, 1_MPI_ADDRESS_KIND, e)
  call MPI_Type_contiguous(2, MPI_INTEGER, type, e)
  attribute = 1
  call MPI_Type_set_attr(type, keyval, attribute, e)
  call MPI_Type_dup(type, type2, e)
  call MPI_Type_get_attr(type2, keyval, attribute, flag, e)
  call check(flag .and. attribute == 2, 'attributes of datatypes')
  n = deletes
  call MPI_Type_delete_attr(type2, keyval, e)
  call check(deletes == n + 1, 'MPI_Type_delete_attr')
  call MPI_Type_free(type, e)
  call MPI_Type_free(type2, e)
  call MPI_Type_free_keyval(keyval, e)
  call check(keyval == MPI_KEYVAL_INVALID, 'MPI_Type_free_keyval')
#ifndef F08
  call MPI_Keyval_create(copy_small, delete_small, keyval, 1000, e)
  call MPI_Attr_put(comm, keyval, 24, e)
  call MPI_Comm_dup(comm, parent, e)
  call MPI_Attr_get(parent, keyval, n, flag, e)
  call check(flag .and. n == 1024, 'MPI_Attr_get')
  call MPI_Comm_get_attr(parent, keyval, attribute, flag, e)
  call check(flag .and. attribute == 1024, 'the same by MPI_Comm_get_attr')
  n = deletes
  call MPI_Attr_delete(parent, keyval, e)
  call check(deletes == n + 1, 'MPI_Attr_delete')
  call MPI_Comm_free(parent, e)
  call MPI_Keyval_free(keyval, e)
  call check(keyval == MPI_KEYVAL_INVALID, 'MPI_Keyval_free')
  call MPI_Attr_get(comm, MPI_TAG_UB, n, flag, e)
  call check(flag .and. n == huge(n), 'MPI_Attr_get of MPI_TAG_UB')
#endif
  call MPI_Comm_get_parent(parent, e)
  call check(NUMBER(parent) == NUMBER(MPI_COMM_NULL), 'MPI_Comm_get_parent')
  call MPI_Comm_disconnect(comm, e)
  call check(NUMBER(comm) == NUMBER(MPI_COMM_NULL), 'MPI_Comm_disconnect')

  ! Sessions.
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, e)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, e)
  call check(n >= 2, 'MPI_Session_get_num_psets')
  n = len(name)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, n, name, e)
  call check(index(name, 'mpi://') == 1 .and. len_trim(name) == n, 'MPI_Session_get_nth_pset')
  call MPI_Session_get_pset_info(session, name, info, e)
  call MPI_Info_get_nkeys(info, n, e)
  call check(e == MPI_SUCCESS .and. n >= 1, 'MPI_Session_get_pset_info')
  call MPI_Info_free(info, e)
  call MPI_Session_get_info(session, info, e)
  call check(e == MPI_SUCCESS, 'MPI_Session_get_info')
  call MPI_Info_free(info, e)
  call MPI_Session_create_errhandler(session_error, handler, e)
  call MPI_Session_set_errhandler(session, handler, e)
  call MPI_Session_get_errhandler(session, handler2, e)
  call check(NUMBER(handler) == NUMBER(handler2), 'MPI_Session_get_errhandler')
  n = errors_seen
  call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, e)
  call check(errors_seen == n + 1, 'MPI_Session_call_errhandler')
  call MPI_Errhandler_free(handler2, e)
  call MPI_Errhandler_free(handler, e)
  call MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN, e)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, e)
  call MPI_Group_size(group, n, e)
  call check(n == size, 'MPI_Group_from_session_pset')
  call MPI_Comm_create_from_group(group, 'org.example.fortran', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, e)
  call MPI_Comm_size(comm, n, e)
  call check(n == size, 'MPI_Comm_create_from_group')
  call MPI_Comm_disconnect(comm, e)
  call MPI_Group_free(group, e)
  call MPI_Session_attach_buffer(session, space, 4000, e)
  call check(e == MPI_SUCCESS, 'MPI_Session_attach_buffer')
  call MPI_Session_flush_buffer(session, e)
  call MPI_Session_iflush_buffer(session, request, e)
  call MPI_Wait(request, MPI_STATUS_IGNORE, e)
  call check(e == MPI_SUCCESS, 'MPI_Session_iflush_buffer')
#ifdef F08
  call MPI_Session_detach_buffer(session, where, n, e)
  flag = transfer(where, bytes) == loc(space)
  call check(n == 4000 .and. flag, "MPI_Session_detach_buffer")
#else
  call MPI_Session_detach_buffer(session, space, n, e)
  call check(n == 4000, 'MPI_Session_detach_buffer')
#endif
  call MPI_Session_finalize(session, e)
  call check(NUMBER(session) == NUMBER(MPI_SESSION_NULL), 'MPI_Session_finalize')

  ! Generalized requests.
  call MPI_Grequest_start(query, release, cancel, 4_MPI_ADDRESS_KIND, request, e)
  call MPI_Cancel(request, e)
  call check(cancelled == 1, 'cancel with complete = .false.')
  call MPI_Grequest_complete(request, e)
  call MPI_Cancel(request, e)
  call check(cancelled == 11, 'cancel with complete = .true.')
  call MPI_Wait(request, status, e)
  call MPI_Get_count(status, MPI_INTEGER, n, e)
  call check(queried == 4 .and. freed == 1 .and. n == 3 .and. TAG(status) == 21, 'MPI_Grequest_start')
  call MPI_Get_elements(status, MPI_INTEGER, n, e)
  call check(n == 3, 'MPI_Get_elements')
  call MPI_Get_elements_x(status, MPI_INTEGER, bytes, e)
  call check(bytes == 3, 'MPI_Get_elements_x')
  call MPI_Status_set_elements_x(status, MPI_INTEGER, 5_MPI_COUNT_KIND, e)
  call MPI_Get_count(status, MPI_INTEGER, n, e)
  call check(n == 5, 'MPI_Status_set_elements_x')
  call MPI_Status_set_source(status, 8, e)
  call MPI_Status_get_source(status, n, e)
  call check(n == 8 .and. SOURCE(status) == 8, 'MPI_Status_set_source')
  call MPI_Status_set_tag(status, 9, e)
  call MPI_Status_get_tag(status, n, e)
  call check(n == 9, 'MPI_Status_set_tag')
  call MPI_Status_set_error(status, MPI_ERR_OTHER, e)
  call MPI_Status_get_error(status, n, e)
  call check(n == MPI_ERR_OTHER, 'MPI_Status_set_error')
  call MPI_Status_set_cancelled(status, .true., e)
  call MPI_Test_cancelled(status, flag, e)
  call check(flag, 'MPI_Status_set_cancelled, MPI_Test_cancelled')
#ifndef MPIF
  block
#ifdef MODULE
    type(MPI_Status) :: other
#else
    type(MPI_Status) :: other
#endif
    integer :: plain(MPI_STATUS_SIZE), plain2(MPI_STATUS_SIZE)
    plain = [1, 2, 3, 4, 5, 6, 7, 8]
    call MPI_Status_f2f08(plain, other, e)
    call check(other%MPI_SOURCE == 1 .and. other%MPI_TAG == 2 .and. other%MPI_ERROR == 3, 'MPI_Status_f2f08')
    call MPI_Status_f082f(other, plain2, e)
    call check(all(plain == plain2), 'MPI_Status_f082f')
  end block
  block
    double precision :: x(3)
    call MPI_Sizeof(x, n, e)
    call check(n == 8, 'MPI_Sizeof')
    call MPI_F_sync_reg(x)
  end block
#endif
  call report(rank)
  call MPI_Finalize(e)
  call MPI_Finalized(flag, e)
  if (.not. flag) error stop 2
end program
