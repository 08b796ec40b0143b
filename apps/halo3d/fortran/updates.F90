! The update: sets every point of a field in g to its neighbour's value in f along the field's own axis.
module updates
  implicit none
  private
  public :: update

  ! Points to update: all, those that need no halo, those that do.
  integer, parameter, public :: everything = 1, inner = 2, boundary = 3

contains

  ! `way` 1: the fields move towards higher coordinates. `queue` as in planes.
  subroutine update(l, m, n, way, part, f, g, queue)
    integer, intent(in) :: l, m, n, way, part, queue
    real, intent(in) :: f(0:l + 1, 0:m + 1, 0:n + 1, 3)
    real, intent(inout) :: g(0:l + 1, 0:m + 1, 0:n + 1, 3)
    integer :: i, j, k, back, lo(3), hi(3), x0, x1, y0, y1, z0, z1
    back = merge(1, -1, way == 1)
    lo = 1
    hi = [l, m, n]
    if (part == inner .and. way == 1) lo = 2
    if (part == inner .and. way == 2) hi = hi - 1
    if (part == boundary .and. way == 1) hi = 1
    if (part == boundary .and. way == 2) lo = hi
    x0 = lo(1); y0 = lo(2); z0 = lo(3)
    x1 = hi(1); y1 = hi(2); z1 = hi(3)
    !$acc parallel loop collapse(3) present(f, g) async(queue)
    do k = 1, n
      do j = 1, m
        do i = x0, x1
          g(i, j, k, 1) = f(i - back, j, k, 1)
        end do
      end do
    end do
    !$acc parallel loop collapse(3) present(f, g) async(queue)
    do k = 1, n
      do j = y0, y1
        do i = 1, l
          g(i, j, k, 2) = f(i, j - back, k, 2)
        end do
      end do
    end do
    !$acc parallel loop collapse(3) present(f, g) async(queue)
    do k = z0, z1
      do j = 1, m
        do i = 1, l
          g(i, j, k, 3) = f(i, j, k - back, 3)
        end do
      end do
    end do
  end subroutine update

end module updates
