! Step 5: as 4, but with MPI_Isend and MPI_Recv in x.
module step_5
  use mpi_f08
  use boxes, only: box
  use planes, only: pack, unpack, at_once
  use stopwatches, only: stopwatch, packing, exchanging, updating
  use updates, only: update, everything
  implicit none
  private
  public :: isend_recv_x

contains

  ! Exchanges f's halos, and moves f to g. All arrays are on the device; f and g swap roles from step to step.
  subroutine isend_recv_x(b, l, m, n, most, f, g, out, in, watch)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout), asynchronous :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    integer :: axis, way, length
    type(MPI_Request) :: request
    do axis = 1, 3
      length = b%elements(axis)
      call pack(l, m, n, most, axis, f, out, at_once)
      call watch%lap(packing, axis)
      do way = 1, 2
        !$acc host_data use_device(out, in)
        if (axis == 1) then
          call MPI_Isend(out(1:length, way, axis), length, MPI_REAL, b%neighbour(way, axis), way, b%comm, request)
          call MPI_Recv(in(1:length, way, axis), length, MPI_REAL, b%neighbour(3 - way, axis), way, b%comm, &
                        MPI_STATUS_IGNORE)
          call MPI_Wait(request, MPI_STATUS_IGNORE)
        else
          call MPI_Sendrecv(out(1:length, way, axis), length, MPI_REAL, b%neighbour(way, axis), way, &
                            in(1:length, way, axis), length, MPI_REAL, b%neighbour(3 - way, axis), way, b%comm, &
                            MPI_STATUS_IGNORE)
        end if
        !$acc end host_data
        call watch%sent(length)
      end do
      call watch%lap(exchanging, axis)
      call unpack(l, m, n, most, axis, in, f, at_once)
      call watch%lap(packing, axis)
    end do
    call update(l, m, n, b%way, everything, f, g, at_once)
    call watch%lap(updating)
  end subroutine isend_recv_x

end module step_5
