! halo3d with directives: steps 3 to 9 of the series in OpenACC, which correspond to the C++ program's patterns.
!
! Exit codes: 0 all valid; 1 a validation failed; 2 bad arguments; 3 a resource is missing.
program halo3d_openacc
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08
  use boxes, only: box, make_box
  use device, only: choose_device
  use options
  use reports
  use runs, only: outcome, run_step
  implicit none

  integer :: status
  call MPI_Init()
  status = parse_and_run()
  call MPI_Finalize()
  if (status /= 0) call leave(status)

contains

  ! Exits without the text that STOP writes.
  subroutine leave(code)
    integer, intent(in) :: code
    interface
      subroutine c_exit(code) bind(c, name='exit')
        use, intrinsic :: iso_c_binding, only: c_int
        integer(c_int), value :: code
      end subroutine c_exit
    end interface
    call c_exit(code)
  end subroutine leave

  integer function parse_and_run() result(code)
    type(settings) :: set
    character(len=:), allocatable :: message
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    code = 0
    select case (parse(set, message))
    case (parsed_help)
      if (rank == 0) call usage()
    case (parsed_list)
      if (rank == 0) call print_steps()
    case (parsed_error)
      code = complain(2, message)
    case default
      code = run_all(set)
    end select
  end function parse_and_run

  integer function complain(code, message)
    integer, intent(in) :: code
    character(len=*), intent(in) :: message
    integer :: rank
    complain = code
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) write (error_unit, '(2a)') 'halo3d-openacc: ', message
  end function complain

  integer function run_all(set) result(code)
    type(settings), intent(in) :: set
    type(box) :: b
    type(outcome), allocatable :: results(:)
    character(len=:), allocatable :: message
    logical :: on_gpu
    integer :: step
    if (.not. make_box(set%procs, set%size, set%local, merge(2, 1, set%reverse), b, message)) then
      code = complain(2, message)
      return
    end if
    if (.not. choose_device(set%device, set%device_number, on_gpu, message)) then
      code = complain(3, message)
      return
    end if
    if (b%rank == 0) call print_heading(set, b, on_gpu)
    allocate (results(0))
    do step = first_step, last_step
      if (.not. set%chosen(step)) cycle
      results = [results, run_step(set, b, step, message)]
      if (allocated(message)) then
        code = complain(3, message)
        return
      end if
    end do
    call MPI_Comm_free(b%comm)
    code = 0
    if (.not. all(results%valid .and. results%md5 == results(1)%md5)) code = 1
    if (b%rank /= 0) return
    call print_table(results)
    if (code == 0) print '(a)', 'validated: every element of every field is where it must be, bit for bit'
    if (len(set%json) > 0) then
      if (.not. write_json(set, b, on_gpu, results)) code = complain(3, 'cannot write ' // set%json)
    end if
  end function run_all

end program halo3d_openacc
