! Datatypes, packing, operations.
#include "interfaces.h"
module operations
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  integer, save :: called = 0
contains
#ifdef F08
  subroutine multiply(in, inout, length, datatype)
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    called = called + 1
    if (datatype == MPI_INTEGER) b = mod(a * b, 1000)
  end subroutine
  subroutine multiply_large(in, inout, length, datatype)
    type(c_ptr), value :: in, inout
    integer(MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    called = called + 1
    b = a * b
  end subroutine
#else
  subroutine multiply(in, inout, length, datatype)
    integer :: length, datatype, in(length), inout(length)
    called = called + 1
    if (datatype == MPI_INTEGER) inout = mod(in * inout, 1000)
  end subroutine
#endif
end module

program types
  use operations
  use checks
  use c_side
  implicit none
  integer :: e, rank, n, m, size, ints(8), x(20), y(20), dims(2), position, combiner, adds, datatypes
  integer(MPI_ADDRESS_KIND) :: low, extent, address, address2, addresses(8), displacements(2), aint_size
  integer(MPI_COUNT_KIND) :: low_x, extent_x, size_x
  logical :: flag
  character(20) :: name
  character(80) :: packed
  HANDLE(MPI_Datatype) :: t, t2, list(8)
  HANDLE(MPI_Op) :: op
  STATUS_OF(status)
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)

  ! The sizes of the predefined types are those of the compiler's.
  call check_size(MPI_INTEGER, storage_size(1), 'MPI_INTEGER')
  call check_size(MPI_REAL, storage_size(1.0), 'MPI_REAL')
  call check_size(MPI_DOUBLE_PRECISION, storage_size(1d0), 'MPI_DOUBLE_PRECISION')
  call check_size(MPI_COMPLEX, storage_size((1.0, 1.0)), 'MPI_COMPLEX')
  call check_size(MPI_DOUBLE_COMPLEX, storage_size((1d0, 1d0)), 'MPI_DOUBLE_COMPLEX')
  call check_size(MPI_LOGICAL, storage_size(.true.), 'MPI_LOGICAL')
  call check_size(MPI_CHARACTER, storage_size('a'), 'MPI_CHARACTER')
  call check_size(MPI_2INTEGER, 2 * storage_size(1), 'MPI_2INTEGER')
  call check_size(MPI_2REAL, 2 * storage_size(1.0), 'MPI_2REAL')
  call check_size(MPI_2DOUBLE_PRECISION, 2 * storage_size(1d0), 'MPI_2DOUBLE_PRECISION')
  call check_size(MPI_INTEGER1, 8, 'MPI_INTEGER1')
  call check_size(MPI_INTEGER8, 64, 'MPI_INTEGER8')
  call check_size(MPI_REAL16, 128, 'MPI_REAL16')
  call check_size(MPI_LOGICAL8, 64, 'MPI_LOGICAL8')
  call check_size(MPI_AINT, storage_size(1_MPI_ADDRESS_KIND), 'MPI_AINT')
  call check_size(MPI_COUNT, storage_size(1_MPI_COUNT_KIND), 'MPI_COUNT')
  call check_size(MPI_OFFSET, storage_size(1_MPI_OFFSET_KIND), 'MPI_OFFSET')

  ! Constructors, each compared with C's view of the type.
  call MPI_Type_contiguous(3, MPI_INTEGER, t, e)
  call made(12, 12, 'MPI_Type_contiguous')
  call MPI_Type_vector(3, 2, 4, MPI_INTEGER, t, e)
  call made(24, 40, 'MPI_Type_vector')
  call MPI_Type_create_hvector(3, 1, 16_MPI_ADDRESS_KIND, MPI_INTEGER, t, e)
  call made(12, 36, 'MPI_Type_create_hvector')
  call MPI_Type_indexed(2, [1, 2], [0, 3], MPI_INTEGER, t, e)
  call made(12, 20, 'MPI_Type_indexed')
  displacements = [0, 20]
  call MPI_Type_create_hindexed(2, [1, 2], displacements, MPI_INTEGER, t, e)
  call made(12, 28, 'MPI_Type_create_hindexed')
  call MPI_Type_create_indexed_block(2, 2, [0, 3], MPI_INTEGER, t, e)
  call made(16, 20, 'MPI_Type_create_indexed_block')
  call MPI_Type_create_hindexed_block(2, 2, displacements, MPI_INTEGER, t, e)
  call made(16, 28, 'MPI_Type_create_hindexed_block')
  list(1) = MPI_INTEGER
  list(2) = MPI_DOUBLE_PRECISION
  displacements = [0, 8]
  call MPI_Type_create_struct(2, [1, 1], displacements, list, t, e)
  call made(12, 16, 'MPI_Type_create_struct')
  call MPI_Type_create_subarray(2, [4, 5], [2, 3], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, t, e)
  call made(24, 80, 'MPI_Type_create_subarray')
  call MPI_Type_create_darray(1, 0, 1, [10], [MPI_DISTRIBUTE_BLOCK], [MPI_DISTRIBUTE_DFLT_DARG], [1], &
      MPI_ORDER_FORTRAN, MPI_INTEGER, t, e)
  call made(40, 40, 'MPI_Type_create_darray')
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND, t, e)
  call made(4, 12, 'MPI_Type_create_resized')
  call MPI_Type_create_f90_real(12, 100, t, e)
  call MPI_Type_size(t, size, e)
  call check(size == storage_size(real(0, selected_real_kind(12, 100))) / 8, 'MPI_Type_create_f90_real')
  call MPI_Type_create_f90_complex(5, MPI_UNDEFINED, t, e)
  call MPI_Type_size(t, size, e)
  call check(size == 2 * storage_size(real(0, selected_real_kind(5))) / 8, 'MPI_Type_create_f90_complex')
  call MPI_Type_create_f90_integer(12, t, e)
  call MPI_Type_size(t, size, e)
  call check(size == storage_size(int(0, selected_int_kind(12))) / 8, 'MPI_Type_create_f90_integer')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, t, e)
  call MPI_Type_size(t, size, e)
  call check(size == 8, 'MPI_Type_match_size')
  call MPI_Type_get_value_index(MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, t, e)
  call check(NUMBER(t) == NUMBER(MPI_2DOUBLE_PRECISION), 'MPI_Type_get_value_index')

  call MPI_Type_vector(2, 3, 5, MPI_INTEGER, t, e)
  call MPI_Type_get_envelope(t, m, adds, datatypes, combiner, e)
  call check(m == 3 .and. adds == 0 .and. datatypes == 1 .and. combiner == MPI_COMBINER_VECTOR, 'MPI_Type_get_envelope')
  list = MPI_DATATYPE_NULL
  ints = -1
  call MPI_Type_get_contents(t, 8, 8, 8, ints, addresses, list, e)
  call check(all(ints(1:4) == [2, 3, 5, -1]) .and. NUMBER(list(1)) == NUMBER(MPI_INTEGER) .and. &
      NUMBER(list(2)) == NUMBER(MPI_DATATYPE_NULL), 'MPI_Type_get_contents')
  call MPI_Type_get_true_extent(t, low, extent, e)
  call check(low == 0 .and. extent == 32, 'MPI_Type_get_true_extent')
  call MPI_Type_get_extent_x(t, low_x, extent_x, e)
  call check(low_x == 0 .and. extent_x == 32, 'MPI_Type_get_extent_x')
  call MPI_Type_get_true_extent_x(t, low_x, extent_x, e)
  call check(extent_x == 32, 'MPI_Type_get_true_extent_x')
  call MPI_Type_size_x(t, size_x, e)
  call check(size_x == 24, 'MPI_Type_size_x')
  call MPI_Type_set_name(t, 'rows of five  ', e)
  call MPI_Type_get_name(t, name, m, e)
  call check(name == 'rows of five' .and. m == 12, 'MPI_Type_set_name, MPI_Type_get_name')
  call MPI_Type_dup(t, t2, e)
  call check(c_type_size(NUMBER(t2)) == 24, 'MPI_Type_dup')
  call MPI_Type_free(t2, e)
  call check(NUMBER(t2) == NUMBER(MPI_DATATYPE_NULL), 'MPI_Type_free')
#ifdef F08
  call MPI_Type_get_extent_c(t, low_x, extent_x, e)
  call check(extent_x == 32, 'MPI_Type_get_extent_c')
  call MPI_Type_size(t, size_x, e)
  call check(size_x == 24, 'MPI_Type_size with a large size')
  call MPI_Type_free(t, e)
  call MPI_Type_vector(2_MPI_COUNT_KIND, 3_MPI_COUNT_KIND, 5_MPI_COUNT_KIND, MPI_INTEGER, t, e)
  block
    integer(MPI_COUNT_KIND) :: i, a, l, d, counts(8)
    call MPI_Type_get_envelope(t, i, a, l, d, combiner, e)
    call check(i == 0 .and. l == 3 .and. d == 1, 'MPI_Type_get_envelope of a large constructor')
    call MPI_Type_get_contents(t, i, a, l, d, ints, addresses, counts, list, e)
    call check(all(counts(1:3) == [2, 3, 5]), 'MPI_Type_get_contents of a large constructor')
  end block
#endif

  call MPI_Get_address(x(1), address, e)
  call MPI_Get_address(x(3), address2, e)
  call check(MPI_Aint_diff(address2, address) == 8 .and. MPI_Aint_add(address, 8_MPI_ADDRESS_KIND) == address2, &
      'MPI_Get_address, MPI_Aint_add, MPI_Aint_diff')

  ! Absolute addresses with MPI_BOTTOM.
  x = [(m, m = 1, 20)]
  y = -1
  list(1) = MPI_INTEGER
  call MPI_Type_create_hindexed(1, [2], [address2], MPI_INTEGER, t2, e)
  call MPI_Type_commit(t2, e)
  call MPI_Sendrecv(MPI_BOTTOM, 1, t2, 0, 0, y, 2, MPI_INTEGER, 0, 0, MPI_COMM_SELF, status, e)
  call check(all(y(1:3) == [3, 4, -1]), 'MPI_BOTTOM')
  call MPI_Type_free(t2, e)

  ! Packing.
  call MPI_Type_commit(t, e)
  y = -1
  position = 0
  call MPI_Pack(x, 1, t, packed, len(packed), position, MPI_COMM_WORLD, e)
  call MPI_Pack_size(1, t, MPI_COMM_WORLD, size, e)
  call check(position == 24 .and. size >= 24, 'MPI_Pack, MPI_Pack_size')
  position = 0
  call MPI_Unpack(packed, len(packed), position, y, 6, MPI_INTEGER, MPI_COMM_WORLD, e)
  call check(all(y(1:7) == [1, 2, 3, 6, 7, 8, -1]), 'MPI_Unpack')
  call MPI_Pack_external_size('external32', 1, t, aint_size, e)
  address = 0
  call MPI_Pack_external('external32', x, 1, t, packed, int(len(packed), MPI_ADDRESS_KIND), address, e)
  call check(aint_size == 24 .and. address == 24, 'MPI_Pack_external')
  y = -1
  address = 0
  call MPI_Unpack_external('external32', packed, int(len(packed), MPI_ADDRESS_KIND), address, y, 6, MPI_INTEGER, e)
  call check(all(y(1:7) == [1, 2, 3, 6, 7, 8, -1]), 'MPI_Unpack_external')
  call MPI_Type_free(t, e)

  ! Operations.
  call MPI_Op_create(multiply, .true., op, e)
  call MPI_Op_commutative(op, flag, e)
  call check(flag, 'MPI_Op_commutative')
  x = 3
  y = 5
  call MPI_Reduce_local(x, y, 2, MPI_INTEGER, op, e)
  call check(called == 1 .and. all(y(1:3) == [15, 15, 5]), 'MPI_Op_create, MPI_Reduce_local')
  x(1) = 2
  call MPI_Allreduce(x, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  call check(y(1) == 2 ** n, 'MPI_Allreduce with a function of the program')
  call check(c_sum([4, 5], 2, NUMBER(op)) == 4 .or. called > 2, 'the operation, called by C')
  call MPI_Op_free(op, e)
  call check(NUMBER(op) == NUMBER(MPI_OP_NULL), 'MPI_Op_free')
#ifdef F08
  call MPI_Op_create_c(multiply_large, .false., op, e)
  called = 0
  x(1) = 3
  call MPI_Allreduce(x, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  call check(y(1) == 3 ** n, 'MPI_Op_create_c')
  call MPI_Op_free(op, e)
#endif
  block
    logical :: l(2), k(2)
    l = [rank == 0, .true.]
    call MPI_Allreduce(l, k, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, e)
    call check((k(1) .eqv. n == 1) .and. k(2), 'logicals')
  end block
  block
    character(5) :: c
    c = 'wrong'
    if (rank == 0) c = 'right'
    call MPI_Bcast(c, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, e)
    call check(c == 'right', 'characters')
  end block
  call report(rank)
  call MPI_Finalize(e)
contains
  subroutine check_size(datatype, bits, what)
    HANDLE(MPI_Datatype) :: datatype
    integer, intent(in) :: bits
    character(*), intent(in) :: what
    call MPI_Type_size(datatype, size, e)
    call check(size == bits / 8 .and. c_type_size(NUMBER(datatype)) == size, what)
  end subroutine
  subroutine made(bytes, long, what)
    integer, intent(in) :: bytes, long
    character(*), intent(in) :: what
    call MPI_Type_size(t, size, e)
    call MPI_Type_get_extent(t, low, extent, e)
    call check(size == bytes .and. low == 0 .and. extent == long, what)
    call check(c_type_size(NUMBER(t)) == bytes .and. c_type_extent(NUMBER(t)) == long, what // ' in C')
    call MPI_Type_commit(t, e)
    call MPI_Type_free(t, e)
  end subroutine
end program
