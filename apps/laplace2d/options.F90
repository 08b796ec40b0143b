! Options of a run: the command line, equal on all ranks.
module options
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: settings, parse, usage, variant_names, variant_sentences
  public :: parsed_run, parsed_help, parsed_list, parsed_error

  integer, parameter :: parsed_run = 0, parsed_help = 1, parsed_list = 2, parsed_error = 3

  character(len=14), parameter :: variant_names(5) = [character(len=14) :: 'mpi', 'openacc-staged', 'openacc', &
                                                      'openmp-staged', 'openmp']
  character(len=60), parameter :: variant_sentences(5) = [character(len=60) :: &
    'MPI alone, on the host', 'OpenACC, edge rows by way of the host', 'OpenACC, MPI gets device addresses', &
    'OpenMP offload, edge rows by way of the host', 'OpenMP offload, MPI gets device addresses']

  type :: settings
    integer :: nx = 512, ny = 512, iterations = 100
    real(real64) :: tolerance = 0
    logical :: every = .true., chosen(5) = .false.          ! run all variants that are built; those that are named
    character(len=:), allocatable :: device                 ! auto, host, gpu
    integer :: device_number = -1                           ! of gpu:N
    character(len=:), allocatable :: json
  end type settings

contains

  integer function parse(set, message) result(what)
    type(settings), intent(inout) :: set
    character(len=:), allocatable, intent(inout) :: message
    character(len=:), allocatable :: name, value
    integer :: place, equals
    logical :: has_value, good
    set%device = 'auto'
    set%json = ''
    what = parsed_run
    place = 1
    do while (place <= command_argument_count())
      name = argument(place)
      if (name == '--help' .or. name == '-h') then
        what = parsed_help
        return
      else if (name == '--list') then
        what = parsed_list
        return
      end if
      value = ''
      equals = index(name, '=')
      has_value = .true.
      if (equals > 0) then
        value = name(equals + 1:)
        name = name(:equals - 1)
      else if (place < command_argument_count()) then
        place = place + 1
        value = argument(place)
      else
        has_value = .false.
      end if
      select case (name)
      case ('--variant')
        call parse_variants(value, set, message)
        if (allocated(message)) then
          what = parsed_error
          return
        end if
        good = .true.
      case ('--device')
        good = parse_device(value, set)
        if (.not. good) message = '--device requires host, gpu, gpu:N or auto'
      case ('--grid')
        good = parse_grid(value, set)
        if (.not. good) message = '--grid requires NX,NY, each at least 1, like 512,512'
      case ('--iterations')
        good = parse_int(value, 1, set%iterations)
        if (.not. good) message = '--iterations requires an integer of at least 1'
      case ('--tolerance')
        good = parse_real(value, set%tolerance)
        if (.not. good) message = '--tolerance requires a number of at least 0, like 1e-4'
      case ('--json')
        set%json = value
        good = len(value) > 0
        if (.not. good) message = '--json requires the name of a file'
      case default
        message = 'unknown option ''' // name // '''; --help lists those there are'
        what = parsed_error
        return
      end select
      if (.not. good) then
        if (has_value) message = message // ', not ''' // value // ''''
        what = parsed_error
        return
      end if
      place = place + 1
    end do
  end function parse

  function argument(place) result(word)
    integer, intent(in) :: place
    character(len=:), allocatable :: word
    integer :: length
    call get_command_argument(place, length=length)
    allocate (character(len=length) :: word)
    call get_command_argument(place, word)
  end function argument

  logical function parse_int(word, least, value) result(good)
    character(len=*), intent(in) :: word
    integer, intent(in) :: least
    integer, intent(inout) :: value
    integer :: number, error
    good = .false.
    if (len(word) == 0 .or. len(word) > 9 .or. verify(word, '0123456789') > 0) return
    read (word, *, iostat=error) number
    if (error /= 0 .or. number < least) return
    value = number
    good = .true.
  end function parse_int

  logical function parse_real(word, value) result(good)
    character(len=*), intent(in) :: word
    real(real64), intent(inout) :: value
    real(real64) :: number
    integer :: error
    good = .false.
    if (len(word) == 0 .or. verify(word, '0123456789.eE+-') > 0) return
    read (word, *, iostat=error) number
    if (error /= 0) return
    if (.not. (number >= 0 .and. number < huge(number))) return
    value = number
    good = .true.
  end function parse_real

  logical function parse_grid(word, set) result(good)
    character(len=*), intent(in) :: word
    type(settings), intent(inout) :: set
    integer :: comma
    comma = index(word, ',')
    good = comma > 0
    if (good) good = parse_int(word(:comma - 1), 1, set%nx)
    if (good) good = parse_int(word(comma + 1:), 1, set%ny)
  end function parse_grid

  logical function parse_device(word, set) result(good)
    character(len=*), intent(in) :: word
    type(settings), intent(inout) :: set
    good = word == 'auto' .or. word == 'host' .or. word == 'gpu' .or. word == 'cuda'
    set%device = word
    if (word == 'cuda') set%device = 'gpu'  ! the other programs' word
    set%device_number = -1
    if (len(word) > 4) then
      if (word(:4) == 'gpu:') then
        good = parse_int(word(5:), 0, set%device_number)
        set%device = 'gpu'
      end if
    end if
  end function parse_device

  ! Parses names separated by commas, or all. `message` stays unallocated when all are known.
  subroutine parse_variants(word, set, message)
    character(len=*), intent(in) :: word
    type(settings), intent(inout) :: set
    character(len=:), allocatable, intent(inout) :: message
    character(len=:), allocatable :: rest, name
    integer :: comma, place
    set%every = .false.
    set%chosen = .false.
    rest = word // ','
    do while (len(rest) > 0)
      comma = index(rest, ',')
      name = rest(:comma - 1)
      rest = rest(comma + 1:)
      place = findloc(variant_names == name .and. len(name) > 0, .true., dim=1)
      if (name == 'all') then
        set%every = .true.
      else if (place > 0) then
        set%chosen(place) = .true.
      else
        message = 'there is no variant ''' // name // ''';'
        do place = 1, size(variant_names)
          message = message // ' ' // trim(variant_names(place)) // ','
        end do
        message = message // ' or all would do'
        return
      end if
    end do
  end subroutine parse_variants

  subroutine usage()
    print '(a)', 'usage: mpiexec -n N laplace2d [options]', &
      'Jacobi iterations of Laplace''s equation on a grid that is split along y into one strip a rank.', &
      '  --variant LIST    names separated by commas, all (the default)', &
      '  --list            the variants', &
      '  --device KIND     where directives run: host, gpu (or cuda), gpu:N (that one for every rank), or auto: a GPU', &
      '                    where every rank finds one (the default)', &
      '  --grid NX,NY      points along x and rows along y; NY must divide by the number of ranks (512,512)', &
      '  --iterations N    at most so many (100)', &
      '  --tolerance T     end when no point changes by more (0)', &
      '  --json FILE       write the results there', &
      '  --help            this text', &
      'Exit codes: 0 all variants agree; 1 they do not; 2 bad arguments; 3 a resource is missing.'
  end subroutine usage

end module options
