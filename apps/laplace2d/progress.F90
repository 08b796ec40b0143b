! How far a solution has come: iterations, the largest change of the last one over all ranks, and times of this rank.
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
    real(real64) :: exchange_seconds = 0, started = 0
  contains
    procedure :: begin, exchanged, reduce
  end type outcome

contains

  ! Around the exchange of rows, for its share of the time.
  subroutine begin(self)
    class(outcome), intent(inout) :: self
    self%started = MPI_Wtime()
  end subroutine begin

  subroutine exchanged(self)
    class(outcome), intent(inout) :: self
    self%exchange_seconds = self%exchange_seconds + MPI_Wtime() - self%started
  end subroutine exchanged

  ! The largest change of all ranks; an iteration has ended.
  subroutine reduce(self, s)
    class(outcome), intent(inout) :: self
    type(strip), intent(in) :: s
    call MPI_Allreduce(MPI_IN_PLACE, self%change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, s%comm)
    self%iterations = self%iterations + 1
  end subroutine reduce

end module progress
