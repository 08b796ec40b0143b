! laplace2d: Jacobi iterations by five variants, whose results must have the same bits.
!
! Exit codes: 0 all variants agree; 1 they do not; 2 bad arguments; 3 a resource is missing.
program laplace2d
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use options
  use progress, only: outcome
  use strips, only: strip, make_strip, divides, fill, checksum, sum_of
  use variant_mpi, only: solve_mpi
  use variant_openacc, only: openacc_built, openacc_devices, openacc_choose, solve_openacc
  use variant_openmp, only: openmp_built, openmp_devices, openmp_choose, openmp_threads, solve_openmp
  implicit none

  type :: result_of_run
    integer :: variant, iterations
    real(real64) :: seconds, copies, exchange, change, total  ! copies: of both fields to the device and back
    integer(int64) :: bits
    logical :: on_gpu
  end type result_of_run

  logical, parameter :: built(5) = [.true., openacc_built, openacc_built, openmp_built, openmp_built]
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
    integer :: rank, place
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    code = 0
    select case (parse(set, message))
    case (parsed_help)
      if (rank == 0) call usage()
    case (parsed_list)
      if (rank /= 0) return
      do place = 1, size(variant_names)
        if (built(place)) print '(a, 1x, a)', variant_names(place), trim(variant_sentences(place))
      end do
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
    if (rank == 0) write (error_unit, '(2a)') 'laplace2d: ', message
  end function complain

  ! Chooses the GPU of this rank by its number on its node; -1: the host. False, with a message, if there is no such
  ! device.
  logical function choose_device(set, device, message)
    type(settings), intent(in) :: set
    integer, intent(out) :: device
    character(len=:), allocatable, intent(inout) :: message
    type(MPI_Comm) :: node
    integer :: local, count
    character(len=12) :: number
    choose_device = .true.
    device = -1
    if (set%device == 'host') return
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, local)
    call MPI_Comm_free(node)
    count = merge(huge(count), 0, openacc_built .or. openmp_built)
    if (openacc_built) count = min(count, openacc_devices())
    if (openmp_built) count = min(count, openmp_devices())
    call MPI_Allreduce(MPI_IN_PLACE, count, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
    if (count > 0 .and. set%device_number < count) then
      device = mod(local, count)
      if (set%device_number >= 0) device = set%device_number
    else if (set%device == 'gpu') then
      choose_device = .false.
      if (count == 0) then
        message = '--device: the directives find no GPU on every rank; --device host does without'
      else
        write (number, '(i0)') count - 1
        message = '--device: there is no such device; gpu:0 to gpu:' // trim(number) // ' or --device host would do'
      end if
    end if
  end function choose_device

  integer function run_all(set) result(code)
    type(settings), intent(inout) :: set
    character(len=:), allocatable :: message
    type(result_of_run), allocatable :: results(:)
    type(strip) :: s
    real(real64), allocatable :: u(:, :), v(:, :)  ! used by all variants, one after the other
    integer :: ranks, rank, device, place
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    place = findloc(set%chosen .and. .not. built, .true., dim=1)
    if (place > 0) then
      message = trim(variant_names(place))
      code = complain(2, 'variant ''' // message // ''' is not in this program, which was built for ' // &
                      merge('OpenACC; laplace2d-openmp ', 'OpenMP; laplace2d-openacc ', openacc_built) // 'has it')
      return
    end if
    if (set%every) set%chosen = built
    if (.not. divides(set%ny, ranks, message)) then
      code = complain(2, message)
      return
    end if
    if (.not. choose_device(set, device, message)) then
      code = complain(3, message)
      return
    end if
    call openacc_choose(device)
    call openmp_choose(device)
    s = make_strip(MPI_COMM_WORLD, set%nx, set%ny)
    allocate (results(0), u(0:s%nx + 1, 0:s%rows + 1), v(0:s%nx + 1, 0:s%rows + 1))
    do place = 1, size(variant_names)
      if (set%chosen(place)) results = [results, run(place, set, s, device, u, v)]
    end do
    code = 0
    if (.not. all(alike(results, results(1)))) then
      code = complain(1, 'the variants do not end with the same bits')
    end if
    if (rank /= 0) return
    call print_table(set, ranks, results)
    if (len(set%json) > 0) then
      if (.not. write_json(set, ranks, results)) code = complain(3, 'cannot write ' // set%json)
    end if
  end function run_all

  elemental logical function alike(a, b)
    type(result_of_run), intent(in) :: a, b
    alike = a%bits == b%bits .and. a%iterations == b%iterations .and. &
            transfer(a%change, 0_int64) == transfer(b%change, 0_int64)
  end function alike

  type(result_of_run) function run(variant, set, s, device, u, v) result(what)
    integer, intent(in) :: variant, device
    type(settings), intent(in) :: set
    type(strip), intent(in) :: s
    real(real64), intent(inout) :: u(0:, 0:), v(0:, 0:)
    type(outcome) :: done
    real(real64) :: start
    call warm_up(variant, set)
    call fill(s, u)
    v = u
    call MPI_Barrier(s%comm)
    start = MPI_Wtime()
    call solve(variant, s, u, v, set%iterations, set%tolerance, done)
    what%copies = MPI_Wtime() - start - done%seconds
    what%seconds = done%seconds
    call MPI_Allreduce(MPI_IN_PLACE, what%copies, 1, MPI_DOUBLE_PRECISION, MPI_MAX, s%comm)
    call MPI_Allreduce(MPI_IN_PLACE, what%seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, s%comm)
    what%variant = variant
    what%iterations = done%iterations
    what%change = done%change
    what%exchange = done%exchange_seconds
    call MPI_Allreduce(MPI_IN_PLACE, what%exchange, 1, MPI_DOUBLE_PRECISION, MPI_SUM, s%comm)
    what%exchange = what%exchange / s%ranks
    what%on_gpu = variant > 1 .and. device >= 0
    if (.not. what%on_gpu) what%copies = 0
    if (mod(done%iterations, 2) == 1) u = v
    what%bits = checksum(s, u)
    what%total = sum_of(s, u)
  end function run

  ! Makes two iterations on two rows per rank of the actual length, so that ranks connect and devices start.
  subroutine warm_up(variant, set)
    integer, intent(in) :: variant
    type(settings), intent(in) :: set
    type(strip) :: s
    type(outcome) :: done
    real(real64), allocatable :: u(:, :), v(:, :)
    integer :: ranks
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    s = make_strip(MPI_COMM_WORLD, set%nx, 2 * ranks)
    allocate (u(0:s%nx + 1, 0:s%rows + 1), v(0:s%nx + 1, 0:s%rows + 1))
    call fill(s, u)
    v = u
    call solve(variant, s, u, v, 2, 0.0_real64, done)
  end subroutine warm_up

  subroutine solve(variant, s, u, v, most, tolerance, done)
    integer, intent(in) :: variant, most
    type(strip), intent(in) :: s
    real(real64), intent(inout) :: u(0:, 0:), v(0:, 0:)
    real(real64), intent(in) :: tolerance
    type(outcome), intent(inout) :: done
    select case (variant)
    case (1)
      call solve_mpi(s, s%nx, s%rows, u, v, most, tolerance, done)
    case (2, 3)
      call solve_openacc(s, s%nx, s%rows, u, v, most, tolerance, variant == 3, done)
    case (4, 5)
      call solve_openmp(s, s%nx, s%rows, u, v, most, tolerance, variant == 5, done)
    end select
  end subroutine solve

  subroutine print_table(set, ranks, results)
    type(settings), intent(in) :: set
    integer, intent(in) :: ranks
    type(result_of_run), intent(in) :: results(:)
    integer :: place
    print '(a, i0, a, i0, a, i0, a, i0, a)', 'laplace2d: ', ranks, ' ranks, ', set%nx, ' x ', set%ny, ' points, at most ', &
      set%iterations, ' iterations'
    if (openmp_threads() > 1 .and. .not. all(results%on_gpu .or. results%variant == 1)) then
      print '(a, i0, a)', 'each rank''s loops take ', openmp_threads(), ' threads; with OMP_NUM_THREADS=1 one'
    end if
    print '(a14, 2x, a4, 8a)', 'variant       ', 'on  ', '     seconds', '   ms/iter', '  speed', ' exchange %', &
      '  copies s', '  iterations', '   largest change', '              sum  checksum'
    do place = 1, size(results)
      associate (r => results(place))
        print '(a14, 2x, a4, f12.4, f10.4, f7.2, f11.1, f10.3, i12, es17.9, f17.6, 2x, z16.16)', variant_names(r%variant), &
          merge('gpu ', 'host', r%on_gpu), r%seconds, 1e3_real64 * r%seconds / r%iterations, &
          results(1)%seconds / r%seconds, 100 * r%exchange / r%seconds, r%copies, r%iterations, r%change, r%total, r%bits
      end associate
    end do
    print '(a)', '(seconds: of the iterations; copies: of both fields to the device, before them, and back)'
  end subroutine print_table

  logical function write_json(set, ranks, results) result(good)
    type(settings), intent(in) :: set
    integer, intent(in) :: ranks
    type(result_of_run), intent(in) :: results(:)
    integer :: unit, error, place
    open (newunit=unit, file=set%json, status='replace', action='write', iostat=error)
    good = error == 0
    if (.not. good) return
    write (unit, '(a, i0, 3a, i0, a, i0, a)') '{"program": "laplace2d", "ranks": ', ranks, ', "device": "', &
      merge('cuda', 'host', any(results%on_gpu)), '", "grid": [', set%nx, ', ', set%ny, '],'
    write (unit, '(a, i0, a)') ' "steps": ', results(1)%iterations, ', "results": ['
    do place = 1, size(results)
      associate (r => results(place))
        write (unit, '(5a, es13.6, a, es13.6, a, es13.6, a, i0, a, es25.16e3, a, es25.16e3, a, z16.16, 2a)') '  {"variant": "', &
          trim(variant_names(r%variant)), '", "device": "', trim(merge('cuda', 'host', r%on_gpu)), '", "seconds": ', &
          r%seconds, ', "copies": ', r%copies, ', "exchange": ', r%exchange, ', "iterations": ', r%iterations, &
          ', "change": ', r%change, ', "sum": ', r%total, ', "checksum": "', r%bits, '"}', &
          merge(',', ' ', place < size(results))
      end associate
    end do
    write (unit, '(a)') ']}'
    close (unit, iostat=error)
    good = error == 0
  end function write_json

end program laplace2d
