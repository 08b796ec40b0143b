! Progress of a solution: iterations, the largest change of the last one over all ranks, and times of this rank.
module progress
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use strips, only: strip
  implicit none
  private
  public :: outcome

  type :: outcome
    integer :: iterations = 0
    real(real64) :: change = huge(1.0_real64)
    real(real64) :: seconds = 0, exchange_seconds = 0  ! of all iterations, without copying the fields to the device
    real(real64) :: started = 0, first = 0             ! this exchange, the first one
  contains
    procedure :: begin, exchanged, reduce
  end type outcome

contains

  ! Begins an iteration and its exchange of rows; the first one begins when all ranks' fields are in place.
  subroutine begin(self, s)
    class(outcome), intent(inout) :: self
    type(strip), intent(in) :: s
    if (self%iterations == 0) call MPI_Barrier(s%comm)
    self%started = MPI_Wtime()
    if (self%iterations == 0) self%first = self%started
  end subroutine begin

  subroutine exchanged(self)
    class(outcome), intent(inout) :: self
    self%exchange_seconds = self%exchange_seconds + MPI_Wtime() - self%started
  end subroutine exchanged

  ! Ends an iteration: computes the largest change of all ranks.
  subroutine reduce(self, s)
    class(outcome), intent(inout) :: self
    type(strip), intent(in) :: s
    call MPI_Allreduce(MPI_IN_PLACE, self%change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, s%comm)
    self%iterations = self%iterations + 1
    self%seconds = MPI_Wtime() - self%first
  end subroutine reduce

end module progress
