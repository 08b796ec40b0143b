! Tests a requirement of the module mpi_f08: assumed type and rank (Fortran 2018, before that TS 29113).
subroutine probe(buffer, ierror) bind(C)
  implicit none
  type(*), dimension(..), intent(in), asynchronous :: buffer
  integer, optional, intent(out) :: ierror
  interface
    subroutine hr_probe(buffer, ierror) bind(C)
      type(*), dimension(..), intent(in), asynchronous :: buffer
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  call hr_probe(buffer, ierror)
end subroutine
