! Only MPI: fields and loops are on the host.
module variant_mpi
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use progress, only: outcome
  use strips, only: strip, exchange_rows
  implicit none
  private
  public :: solve_mpi

contains

  subroutine solve_mpi(s, nx, rows, u, v, most, tolerance, done)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows, most
    real(real64), intent(inout) :: u(0:nx + 1, 0:rows + 1), v(0:nx + 1, 0:rows + 1)
    real(real64), intent(in) :: tolerance
    type(outcome), intent(inout) :: done
    do while (done%iterations < most .and. done%change > tolerance)
      if (mod(done%iterations, 2) == 0) then
        call iterate(u, v)
      else
        call iterate(v, u)
      end if
    end do

  contains

    subroutine iterate(from, to)
      real(real64), intent(inout) :: from(0:nx + 1, 0:rows + 1), to(0:nx + 1, 0:rows + 1)
      call exchange(from)
      call sweep(from, to)
      call done%reduce(s)
    end subroutine iterate

    subroutine exchange(from)
      real(real64), intent(inout) :: from(0:nx + 1, 0:rows + 1)
      call done%begin(s)
      call exchange_rows(s, nx, rows, from)
      call done%exchanged()
    end subroutine exchange

    subroutine sweep(from, to)
      real(real64), intent(in) :: from(0:nx + 1, 0:rows + 1)
      real(real64), intent(inout) :: to(0:nx + 1, 0:rows + 1)
      real(real64) :: largest
      integer :: x, y
      largest = 0
      do y = 1, rows
        do x = 1, nx
          to(x, y) = 0.25_real64 * ((from(x - 1, y) + from(x + 1, y)) + (from(x, y - 1) + from(x, y + 1)))
          largest = max(largest, abs(to(x, y) - from(x, y)))
        end do
      end do
      done%change = largest
    end subroutine sweep

  end subroutine solve_mpi

end module variant_mpi
