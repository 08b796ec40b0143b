! Step 9: as 8, but the device's loops are asynchronous; the inner points have their own queue, from the start of the
! step.
module step_9
  use mpi_f08
  use boxes, only: box
  use planes, only: pack, unpack
  use stopwatches, only: stopwatch, packing, exchanging, updating
  use updates, only: update, inner, boundary
  implicit none
  private
  public :: overlap_async

  integer, parameter :: faces = 1, points = 2  ! queues of the device

contains

  ! Exchanges f's halos, and moves f to g. All arrays are on the device; f and g swap roles from step to step.
  subroutine overlap_async(b, l, m, n, most, f, g, out, in, watch)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout), asynchronous :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    integer :: axis, way, length
    type(MPI_Request) :: requests(4, 3)
    call update(l, m, n, b%way, inner, f, g, points)
    call watch%lap(updating)
    do axis = 1, 3
      call pack(l, m, n, most, axis, f, out, faces)
      call watch%lap(packing, axis)
    end do
    !$acc wait(faces)
    call watch%lap(packing)
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
    do axis = 1, 3
      call MPI_Waitall(4, requests(:, axis), MPI_STATUSES_IGNORE)
      call watch%lap(exchanging, axis)
    end do
    do axis = 1, 3
      call unpack(l, m, n, most, axis, in, f, faces)
      call watch%lap(packing, axis)
    end do
    call update(l, m, n, b%way, boundary, f, g, faces)
    !$acc wait
    call watch%lap(updating)
  end subroutine overlap_async

end module step_9
