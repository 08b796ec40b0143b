! Copies planes of the three fields to and from messages, on the device.
!
! `queue` is the device's asynchronous queue, or `at_once`, with which the loops are complete on return.
module planes
  use device, only: at_once
  implicit none
  private
  public :: pack, unpack, at_once

contains

  ! The own planes at both ends of an axis: out(:, 1, axis) is sent to the higher neighbour, out(:, 2, axis) to the lower.
  subroutine pack(l, m, n, most, axis, f, out, queue)
    integer, intent(in) :: l, m, n, most, axis, queue
    real, intent(in) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout) :: out(most, 2, 3)
    integer :: i, j, k, field
    select case (axis)
    case (1)
      !$acc parallel loop collapse(3) present(f, out) async(queue)
      do field = 1, 3
        do k = 1, n
          do j = 1, m
            out(j + m * (k - 1 + n * (field - 1)), 1, 1) = f(l, j, k, field)
            out(j + m * (k - 1 + n * (field - 1)), 2, 1) = f(1, j, k, field)
          end do
        end do
      end do
    case (2)
      !$acc parallel loop collapse(3) present(f, out) async(queue)
      do field = 1, 3
        do k = 1, n
          do i = 1, l
            out(i + l * (k - 1 + n * (field - 1)), 1, 2) = f(i, m, k, field)
            out(i + l * (k - 1 + n * (field - 1)), 2, 2) = f(i, 1, k, field)
          end do
        end do
      end do
    case (3)
      !$acc parallel loop collapse(3) present(f, out) async(queue)
      do field = 1, 3
        do j = 1, m
          do i = 1, l
            out(i + l * (j - 1 + m * (field - 1)), 1, 3) = f(i, j, n, field)
            out(i + l * (j - 1 + m * (field - 1)), 2, 3) = f(i, j, 1, field)
          end do
        end do
      end do
    end select
  end subroutine pack

  ! A plane that was sent upwards arrives from below: in(:, 1, axis) becomes the lower halo.
  subroutine unpack(l, m, n, most, axis, in, f, queue)
    integer, intent(in) :: l, m, n, most, axis, queue
    real, intent(in) :: in(most, 2, 3)
    real, intent(inout) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3)
    integer :: i, j, k, field
    select case (axis)
    case (1)
      !$acc parallel loop collapse(3) present(f, in) async(queue)
      do field = 1, 3
        do k = 1, n
          do j = 1, m
            f(0, j, k, field) = in(j + m * (k - 1 + n * (field - 1)), 1, 1)
            f(l + 1, j, k, field) = in(j + m * (k - 1 + n * (field - 1)), 2, 1)
          end do
        end do
      end do
    case (2)
      !$acc parallel loop collapse(3) present(f, in) async(queue)
      do field = 1, 3
        do k = 1, n
          do i = 1, l
            f(i, 0, k, field) = in(i + l * (k - 1 + n * (field - 1)), 1, 2)
            f(i, m + 1, k, field) = in(i + l * (k - 1 + n * (field - 1)), 2, 2)
          end do
        end do
      end do
    case (3)
      !$acc parallel loop collapse(3) present(f, in) async(queue)
      do field = 1, 3
        do j = 1, m
          do i = 1, l
            f(i, j, 0, field) = in(i + l * (j - 1 + m * (field - 1)), 1, 3)
            f(i, j, n + 1, field) = in(i + l * (j - 1 + m * (field - 1)), 2, 3)
          end do
        end do
      end do
    end select
  end subroutine unpack

end module planes
