! Counting and reporting for the tests.
module checks
  implicit none
  integer, save :: checked = 0, failed = 0
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    checked = checked + 1
    if (ok) return
    failed = failed + 1
    print '(2a)', 'FAILED: ', what
  end subroutine
  subroutine report(rank)
    integer, intent(in) :: rank
    if (failed > 0) error stop 1
    if (rank == 0) print '(a, i0, a)', 'passed ', checked, ' checks'
  end subroutine
end module
