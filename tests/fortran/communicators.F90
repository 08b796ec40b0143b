! Groups, communicators, topologies.
#include "interfaces.h"
program communicators
  USE_MPI
  use checks
  use c_side
  implicit none
  INCLUDE_MPI
  integer :: e, rank, n, m, i, dims(2), coords(2), ranks(16), ranks2(16), ranges(3, 1), index(2), edges(2), weights(4)
  integer :: sources(4), destinations(4), weights2(4), nnodes, nedges
  logical :: flag, periods(2), periods2(2)
  character(30) :: name
  HANDLE(MPI_Comm) :: comm, cart, sub, made, inter
  HANDLE(MPI_Group) :: world, group, group2
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Request) :: r
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)

  call MPI_Comm_group(MPI_COMM_WORLD, world, e)
  call MPI_Group_size(world, m, e)
  call check(m == n .and. c_group_size(NUMBER(world)) == n, 'MPI_Comm_group, MPI_Group_size')
  call MPI_Group_rank(world, m, e)
  call check(m == rank, 'MPI_Group_rank')
  ranks(1) = 0
  call MPI_Group_incl(world, 1, ranks, group, e)
  call MPI_Group_size(group, m, e)
  call check(m == 1, 'MPI_Group_incl')
  call MPI_Group_excl(world, 1, ranks, group2, e)
  call MPI_Group_size(group2, m, e)
  call check(m == n - 1, 'MPI_Group_excl')
  call MPI_Group_compare(group, world, m, e)
  call check(m == merge(MPI_IDENT, MPI_UNEQUAL, n == 1), 'MPI_Group_compare')
  call operate(1)
  call operate(2)
  call operate(3)
  call MPI_Group_free(group, e)
  call MPI_Group_free(group2, e)
  ranges(:, 1) = [0, n - 1, 1]
  call MPI_Group_range_incl(world, 1, ranges, group, e)
  call MPI_Group_size(group, m, e)
  call check(m == n, 'MPI_Group_range_incl')
  call MPI_Group_range_excl(world, 1, ranges, group2, e)
  call check(NUMBER(group2) == NUMBER(MPI_GROUP_EMPTY), 'MPI_Group_range_excl')
  ranks(1:n) = [(i, i = 0, n - 1)]
  call MPI_Group_translate_ranks(world, n, ranks, group, ranks2, e)
  call check(all(ranks2(1:n) == ranks(1:n)), 'MPI_Group_translate_ranks')

  call MPI_Comm_create(MPI_COMM_WORLD, group, comm, e)
  call MPI_Comm_compare(comm, MPI_COMM_WORLD, m, e)
  call check(m == MPI_CONGRUENT, 'MPI_Comm_create, MPI_Comm_compare')
  call MPI_Comm_free(comm, e)
  call MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, comm, e)
  call check(c_comm_size(NUMBER(comm)) == n, 'MPI_Comm_create_group')
  call MPI_Comm_set_name(comm, ' a name  ', e)
  call MPI_Comm_get_name(comm, name, m, e)
  call check(index_of(name, 'a name') > 0 .and. m == len_trim(name), 'MPI_Comm_set_name, MPI_Comm_get_name')
  call MPI_Info_create(info, e)
  call MPI_Comm_set_info(comm, info, e)
  call MPI_Comm_dup_with_info(comm, info, made, e)
  call check(c_comm_size(NUMBER(made)) == n, 'MPI_Comm_dup_with_info')
  call MPI_Comm_free(made, e)
  call MPI_Comm_idup_with_info(comm, info, made, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(c_comm_rank(NUMBER(made)) == rank, 'MPI_Comm_idup_with_info')
  call MPI_Comm_free(made, e)
  call MPI_Info_free(info, e)
  call MPI_Comm_get_info(comm, info, e)
  call check(NUMBER(info) /= NUMBER(MPI_INFO_NULL), 'MPI_Comm_get_info')
  call MPI_Info_free(info, e)
  call MPI_Comm_idup(comm, made, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call check(c_comm_rank(NUMBER(made)) == rank, 'MPI_Comm_idup')
  call MPI_Comm_free(made, e)
  call MPI_Comm_dup(comm, made, e)
  call check(c_comm_rank(NUMBER(made)) == rank, 'MPI_Comm_dup')
  call MPI_Comm_free(made, e)
  call MPI_Comm_free(comm, e)
  call check(NUMBER(comm) == NUMBER(MPI_COMM_NULL), 'MPI_Comm_free')
  call MPI_Group_free(group, e)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, sub, e)
  call MPI_Comm_size(sub, m, e)
  call check(m == (n + 1 - mod(rank, 2)) / 2, 'MPI_Comm_split')
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made, e)
  ! The launcher may declare that they are on several hosts.
  call get_environment_variable('MPI_LOCALNRANKS', name, status=e)
  m = n
  if (e == 0) read (name, *) m
  call check(c_comm_size(NUMBER(made)) == m, 'MPI_Comm_split_type')
  call MPI_Comm_free(made, e)
  call MPI_Comm_test_inter(sub, flag, e)
  call check(.not. flag, 'MPI_Comm_test_inter')
  if (n > 1) then
    call MPI_Comm_free(sub, e)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, sub, e)
    call MPI_Intercomm_create(sub, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 3, inter, e)
    call MPI_Comm_test_inter(inter, flag, e)
    call check(flag, 'MPI_Intercomm_create')
    call MPI_Comm_remote_size(inter, m, e)
    call check(m == n / 2, 'MPI_Comm_remote_size')
    call MPI_Comm_remote_group(inter, group, e)
    call check(c_group_size(NUMBER(group)) == n / 2, 'MPI_Comm_remote_group')
    call MPI_Intercomm_merge(inter, mod(rank, 2) == 1, made, e)
    call check(c_comm_rank(NUMBER(made)) == rank / 2 + merge(n / 2, 0, mod(rank, 2) == 1), 'MPI_Intercomm_merge')
    call MPI_Comm_free(made, e)
    call MPI_Comm_free(inter, e)
    call MPI_Comm_group(sub, group2, e)
    call MPI_Intercomm_create_from_groups(group2, 0, group, 0, 'org.example.both', MPI_INFO_NULL, MPI_ERRORS_RETURN, &
        inter, e)
    call MPI_Comm_remote_size(inter, m, e)
    call check(m == n / 2, 'MPI_Intercomm_create_from_groups')
    call MPI_Comm_free(inter, e)
    call MPI_Group_free(group, e)
    call MPI_Group_free(group2, e)
  end if
  call MPI_Comm_free(sub, e)

  ! Cartesian.
  dims = 0
  call MPI_Dims_create(n, 2, dims, e)
  call check(product(dims) == n, 'MPI_Dims_create')
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, e)
  call MPI_Topo_test(cart, m, e)
  call check(m == MPI_CART, 'MPI_Topo_test')
  call MPI_Cartdim_get(cart, m, e)
  call check(m == 2, 'MPI_Cartdim_get')
  ranks = -1
  periods2 = .false.
  call MPI_Cart_get(cart, 2, ranks, periods2, coords, e)
  call check(all(ranks(1:3) == [dims, -1]) .and. (periods2(1) .and. .not. periods2(2)), 'MPI_Cart_get')
  call MPI_Cart_rank(cart, coords, m, e)
  call check(m == rank, 'MPI_Cart_rank')
  call MPI_Cart_coords(cart, rank, 2, ranks, e)
  call check(all(ranks(1:2) == coords), 'MPI_Cart_coords')
  call MPI_Cart_shift(cart, 1, 1, i, m, e)
  call check((m == MPI_PROC_NULL) .eqv. (coords(2) == dims(2) - 1), 'MPI_Cart_shift')
  call MPI_Cart_sub(cart, [.true., .false.], sub, e)
  call check(c_comm_size(NUMBER(sub)) == dims(1), 'MPI_Cart_sub')
  call MPI_Comm_free(sub, e)
  call MPI_Cart_map(cart, 2, dims, periods, m, e)
  call check(m >= 0 .and. m < n, 'MPI_Cart_map')
  call MPI_Comm_free(cart, e)

  ! Graphs: two nodes that are neighbours, or one that is its own neighbour.
  if (n > 1) then
    index = [1, 2]
    edges = [1, 0]
    nnodes = 2
  else
    index = 1
    edges = 0
    nnodes = 1
  end if
  call MPI_Graph_create(MPI_COMM_WORLD, nnodes, index, edges, .false., made, e)
  call MPI_Graph_map(MPI_COMM_WORLD, nnodes, index, edges, m, e)
  call check(e == MPI_SUCCESS, 'MPI_Graph_map')
  if (rank < nnodes) then
    call MPI_Graphdims_get(made, m, i, e)
    call check(m == nnodes .and. i == nnodes, 'MPI_Graphdims_get')
    call MPI_Graph_get(made, 2, 2, ranks, ranks2, e)
    call check(all(ranks(1:nnodes) == index(1:nnodes)) .and. ranks2(1) == edges(1), 'MPI_Graph_get')
    call MPI_Graph_neighbors_count(made, rank, m, e)
    call MPI_Graph_neighbors(made, rank, m, ranks, e)
    call check(m == 1 .and. ranks(1) == edges(rank + 1), 'MPI_Graph_neighbors_count, MPI_Graph_neighbors')
    call MPI_Comm_free(made, e)
  end if
  sources = mod(rank - 1 + n, n)
  destinations = mod(rank + 1, n)
  weights = 10 + rank
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., made, e)
  call MPI_Dist_graph_neighbors_count(made, m, i, flag, e)
  call check(m == 1 .and. i == 1 .and. .not. flag, 'MPI_Dist_graph_create_adjacent, MPI_UNWEIGHTED')
  call MPI_Comm_free(made, e)
  ranks(1) = rank
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, ranks, [1], destinations, weights, MPI_INFO_NULL, .false., made, e)
  call MPI_Dist_graph_neighbors_count(made, m, i, flag, e)
  call check(m == 1 .and. i == 1 .and. flag, 'MPI_Dist_graph_create')
  call MPI_Dist_graph_neighbors(made, 1, ranks, weights2, 1, ranks2, weights, e)
  call check(ranks(1) == sources(1) .and. weights2(1) == 10 + sources(1) .and. ranks2(1) == destinations(1) .and. &
      weights(1) == 10 + rank, 'MPI_Dist_graph_neighbors')
  call MPI_Comm_free(made, e)
  call MPI_Group_free(world, e)
  call report(rank)
  call MPI_Finalize(e)
contains
  subroutine operate(what)
    integer, intent(in) :: what
    HANDLE(MPI_Group) :: result
    integer :: expected
    select case (what)
    case (1)
      call MPI_Group_union(group, group2, result, e)
      expected = n
    case (2)
      call MPI_Group_intersection(group, group2, result, e)
      expected = 0
    case (3)
      call MPI_Group_difference(world, group, result, e)
      expected = n - 1
    end select
    call MPI_Group_size(result, m, e)
    call check(m == expected, 'set operations of groups')
    if (m > 0) call MPI_Group_free(result, e)
  end subroutine
  integer function index_of(text, part)
    character(*), intent(in) :: text, part
    intrinsic :: index
    index_of = scan(text, part)
  end function
end program
