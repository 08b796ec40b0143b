! Step 3: directives move the loops and the packing to the device; messages go through the host.
module step_3
  use mpi_f08
  use boxes, only: box
  use planes, only: pack, unpack, at_once
  use stopwatches, only: stopwatch, packing, exchanging, updating
  use updates, only: update, everything
  implicit none
  private
  public :: staged

contains

  ! Exchanges f's halos, and moves f to g. All arrays are on the device; f and g swap roles from step to step.
  subroutine staged(b, l, m, n, most, f, g, out, in, watch)
    type(box), intent(in) :: b
    integer, intent(in) :: l, m, n, most
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3), g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout), asynchronous :: out(most, 2, 3), in(most, 2, 3)
    type(stopwatch), intent(inout) :: watch
    integer :: axis, way, length
    do axis = 1, 3
      length = b%elements(axis)
      call pack(l, m, n, most, axis, f, out, at_once)
      call watch%lap(packing, axis)
      do way = 1, 2
        call to_host(out(:, way, axis), length)
        call MPI_Sendrecv(out(1:length, way, axis), length, MPI_REAL, b%neighbour(way, axis), way, &
                          in(1:length, way, axis), length, MPI_REAL, b%neighbour(3 - way, axis), way, b%comm, &
                          MPI_STATUS_IGNORE)
        call to_device(in(:, way, axis), length)
        call watch%sent(length)
      end do
      call watch%lap(exchanging, axis)
      call unpack(l, m, n, most, axis, in, f, at_once)
      call watch%lap(packing, axis)
    end do
    call update(l, m, n, b%way, everything, f, g, at_once)
    call watch%lap(updating)
  end subroutine staged

  ! Passes a part of a larger array as a one-dimensional one, because GCC 12 copies too much of a section such as
  ! out(1:length, 2:2, 1:1).
  subroutine to_host(part, length)
    integer, intent(in) :: length
    real, intent(inout) :: part(length)
    !$acc update self(part(1:length))
  end subroutine to_host

  subroutine to_device(part, length)
    integer, intent(in) :: length
    real, intent(inout) :: part(length)
    !$acc update device(part(1:length))
  end subroutine to_device

end module step_3
