! MPI and OpenMP offload: the same as with OpenACC, with OpenMP's directives.
!
! Compile with -fopenmp (GCC; flang with --offload-arch), -mp=gpu (nvfortran), -fiopenmp -fopenmp-targets=spir64 (ifx).
! Without such a flag, it runs on the host.
module variant_openmp
  use, intrinsic :: iso_fortran_env, only: real64
#ifdef _OPENMP
  use omp_lib
#endif
  use mpi_f08
  use progress, only: outcome
  use strips, only: strip, exchange_rows
  implicit none
  private
  public :: openmp_built, openmp_devices, openmp_choose, openmp_threads, solve_openmp

#ifdef _OPENMP
  logical, parameter :: openmp_built = .true.
#else
  logical, parameter :: openmp_built = .false.
#endif

contains

  ! Returns the number of GPUs; 0 without OpenMP.
  integer function openmp_devices()
    openmp_devices = 0
#ifdef _OPENMP
    openmp_devices = omp_get_num_devices()
#endif
  end function openmp_devices

  ! Chooses the device; a negative number is the host.
  subroutine openmp_choose(device)
    integer, intent(in) :: device
#ifdef _OPENMP
    if (device < 0) then
      call omp_set_default_device(omp_get_initial_device())
    else
      call omp_set_default_device(device)
    end if
#else
    if (device >= 0) continue  ! the directives are comments
#endif
  end subroutine openmp_choose

  ! Returns the number of threads of a loop on the host.
  integer function openmp_threads()
    openmp_threads = 1
#ifdef _OPENMP
    openmp_threads = omp_get_max_threads()
#endif
  end function openmp_threads

  subroutine solve_openmp(s, nx, rows, u, v, most, tolerance, aware, done)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows, most
    real(real64), intent(inout) :: u(0:nx + 1, 0:rows + 1), v(0:nx + 1, 0:rows + 1)
    real(real64), intent(in) :: tolerance
    logical, intent(in) :: aware
    type(outcome), intent(inout) :: done
    !$omp target data map(tofrom: u, v)
    do while (done%iterations < most .and. done%change > tolerance)
      if (mod(done%iterations, 2) == 0) then
        call iterate(s, nx, rows, u, v, aware, done)
      else
        call iterate(s, nx, rows, v, u, aware, done)
      end if
    end do
    !$omp end target data
  end subroutine solve_openmp

  subroutine iterate(s, nx, rows, from, to, aware, done)
    type(strip), intent(in) :: s
    integer, intent(in) :: nx, rows
    real(real64), intent(inout) :: from(0:nx + 1, 0:rows + 1), to(0:nx + 1, 0:rows + 1)
    logical, intent(in) :: aware
    type(outcome), intent(inout) :: done
    call done%begin(s)
    if (aware) then
      !$omp target data use_device_addr(from)
      call exchange_rows(s, nx, rows, from)
      !$omp end target data
    else
      ! Whole rows, which are contiguous. For a shorter section, GCC 12 combines its lower bound with the length of a
      ! whole row.
      !$omp target update from(from(:, 1:1), from(:, rows:rows))
      call exchange_rows(s, nx, rows, from)
      !$omp target update to(from(:, 0:0), from(:, rows + 1:rows + 1))
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
    ! simd: GCC runs a thread as a warp, of which one lane works without it.
    !$omp target teams distribute parallel do simd collapse(2) map(tofrom: largest) reduction(max: largest)
    do y = 1, rows
      do x = 1, nx
        to(x, y) = 0.25_real64 * ((from(x - 1, y) + from(x + 1, y)) + (from(x, y - 1) + from(x, y + 1)))
        largest = max(largest, abs(to(x, y) - from(x, y)))
      end do
    end do
    change = largest
  end subroutine sweep

end module variant_openmp
