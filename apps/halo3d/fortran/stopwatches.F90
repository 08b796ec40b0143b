! Time that one rank spends in each phase, and its messages.
module stopwatches
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08, only: MPI_Wtime
  implicit none
  private
  public :: stopwatch

  integer, parameter, public :: packing = 1, exchanging = 2, updating = 3

  type :: stopwatch
    real(real64) :: part(3) = 0, axis(3) = 0      ! seconds: by phase; of packing and exchanging, by direction
    real(real64) :: messages = 0, bytes = 0
    real(real64) :: last = 0
  contains
    procedure :: start, lap, sent
  end type stopwatch

contains

  subroutine start(self)
    class(stopwatch), intent(inout) :: self
    self%last = MPI_Wtime()
  end subroutine start

  ! Adds the time since the last call to this phase.
  subroutine lap(self, what, axis)
    class(stopwatch), intent(inout) :: self
    integer, intent(in) :: what
    integer, intent(in), optional :: axis
    real(real64) :: now
    now = MPI_Wtime()
    self%part(what) = self%part(what) + now - self%last
    if (present(axis)) self%axis(axis) = self%axis(axis) + now - self%last
    self%last = now
  end subroutine lap

  subroutine sent(self, elements)
    class(stopwatch), intent(inout) :: self
    integer, intent(in) :: elements
    self%messages = self%messages + 1
    self%bytes = self%bytes + 4 * real(elements, real64)
  end subroutine sent

end module stopwatches
