! Step 8: as 7, but the points that need no halo are updated between posting and waiting.
module step_8
  use mpi_f08
  use boxes, only: box
  use planes, only: pack, unpack, at_once
  use stopwatches, only: stopwatch, packing, exchanging, updating
  use updates, only: update, inner, boundary
  implicit none
  private
  public :: overlap

contains

  ! Exchanges f's halos, and moves f to g. All arrays are on the device; f and g swap roles from step to step.
  subroutine overlap(b, l, m, n, most, f, g, out, in, watch)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout), asynchronous :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    integer :: axis, way, length
    type(MPI_Request) :: requests(4, 3)
    do axis = 1, 3
      call pack(l, m, n, most, axis, f, out, at_once)
      call watch%lap(packing, axis)
    end do
    !$acc host_data use_device(out, in)
    do axis = 1, 3
      length = b%elements(axis)
      do way = 1, 2
        call MPI_Irecv(in(1:length, way, axis), length, MPI_REAL, b%neighbour(3 - way, axis), way, b%comm, &
                       requests(way, axis))
        call MPI_Isend(out(1:length, way, axis), length, MPI_REAL, b%neighbour(way, axis), way, b%comm, &
                       requests(way + 2, axis))
        call watch%sent(length)
      end do
      call watch%lap(exchanging, axis)
    end do
    !$acc end host_data
    call update(l, m, n, b%way, inner, f, g, at_once)
    call watch%lap(updating)
    do axis = 1, 3
      call MPI_Waitall(4, requests(:, axis), MPI_STATUSES_IGNORE)
      call watch%lap(exchanging, axis)
    end do
    do axis = 1, 3
      call unpack(l, m, n, most, axis, in, f, at_once)
      call watch%lap(packing, axis)
    end do
    call update(l, m, n, b%way, boundary, f, g, at_once)
    call watch%lap(updating)
  end subroutine overlap

end module step_8
