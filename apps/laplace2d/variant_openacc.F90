! MPI and OpenACC: the fields stay on the device for the whole solution. `aware`: MPI is passed the device's addresses;
! otherwise the edge rows are copied to the host and exchanged there, and the received rows are copied to the device.
!
! Compile with -fopenacc (GCC), -acc (nvfortran), -hacc (Cray). Without such a flag, it runs on the host.
module variant_openacc
  use, intrinsic :: iso_fortran_env, only: real64
#ifdef _OPENACC
  use openacc
#endif
  use mpi_f08
  use progress, only: outcome
  use strips, only: strip, exchange_rows
  implicit none
  private
  public :: openacc_built, openacc_devices, openacc_choose, solve_openacc

#ifdef _OPENACC
  logical, parameter :: openacc_built = .true.
#else
  logical, parameter :: openacc_built = .false.
#endif

contains

  ! Returns the number of GPUs; 0 without OpenACC.
  integer function openacc_devices()
    openacc_devices = 0
#ifdef _OPENACC
    openacc_devices = acc_get_num_devices(acc_device_not_host)
#endif
  end function openacc_devices

  ! Chooses the device; a negative number is the host. Called before any other directive.
  subroutine openacc_choose(device)
    integer, intent(in) :: device
#ifdef _OPENACC
    if (device < 0) then
      call acc_set_device_type(acc_device_host)
    else
      call acc_set_device_num(device, acc_device_not_host)
    end if
#else
    if (device >= 0) continue  ! the directives are comments
#endif
  end subroutine openacc_choose

  subroutine solve_openacc(s, nx, rows, u, v, most, tolerance, aware, done)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows, most
    real(real64), intent(inout) :: u(0:nx + 1, 0:rows + 1), v(0:nx + 1, 0:rows + 1)
    real(real64), intent(in) :: tolerance
    logical, intent(in) :: aware
    type(outcome), intent(inout) :: done
    !$acc data copy(u, v)
    do while (done%iterations < most .and. done%change > tolerance)
      if (mod(done%iterations, 2) == 0) then
        call iterate(s, nx, rows, u, v, aware, done)
      else
        call iterate(s, nx, rows, v, u, aware, done)
      end if
    end do
    !$acc end data
  end subroutine solve_openacc

  subroutine iterate(s, nx, rows, from, to, aware, done)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows
    real(real64), intent(inout) :: from(0:nx + 1, 0:rows + 1), to(0:nx + 1, 0:rows + 1)
    logical, intent(in) :: aware
    type(outcome), intent(inout) :: done
    call done%begin(s)
    if (aware) then
      !$acc host_data use_device(from)
      call exchange_rows(s, nx, rows, from)
      !$acc end host_data
    else
      !$acc update self(from(1:nx, 1:1))
      !$acc update self(from(1:nx, rows:rows))
      call exchange_rows(s, nx, rows, from)
      !$acc update device(from(1:nx, 0:0))
      !$acc update device(from(1:nx, rows + 1:rows + 1))
    end if
    call done%exchanged()
    call sweep(nx, rows, from, to, done%change)
    call done%reduce(s)
  end subroutine iterate

  subroutine sweep(nx, rows, from, to, change)
    integer, intent(in) :: nx, rows
    real(real64), intent(in) :: from(0:nx + 1, 0:rows + 1)
    real(real64), intent(inout) :: to(0:nx + 1, 0:rows + 1)
    real(real64), intent(out) :: change
    real(real64) :: largest
    integer :: x, y
    largest = 0
    !$acc parallel loop collapse(2) present(from, to) reduction(max:largest)
    do y = 1, rows
      do x = 1, nx
        to(x, y) = 0.25_real64 * ((from(x - 1, y) + from(x + 1, y)) + (from(x, y - 1) + from(x, y + 1)))
        largest = max(largest, abs(to(x, y) - from(x, y)))
      end do
    end do
    change = largest
  end subroutine sweep

end module variant_openacc
