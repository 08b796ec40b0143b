! Options of a run: the command line, equal on all ranks.
module options
  implicit none
  private
  public :: settings, parse, usage
  public :: parsed_run, parsed_help, parsed_list, parsed_error

  integer, parameter :: parsed_run = 0, parsed_help = 1, parsed_list = 2, parsed_error = 3
  integer, parameter, public :: first_step = 3, last_step = 9

  character(len=13), parameter, public :: step_names(first_step:last_step) = [character(len=13) :: 'staged', 'packed', &
    'isend-recv-x', 'isend-recv', 'isend-irecv', 'overlap', 'overlap-async']
  character(len=70), parameter, public :: step_sentences(first_step:last_step) = [character(len=70) :: &
    'loops and packing by directives, messages through the host', 'as staged, MPI gets the device''s addresses', &
    'as packed, MPI_Isend and MPI_Recv in x', 'as isend-recv-x, in all directions', &
    'MPI_Isend and MPI_Irecv in all directions at once', &
    'as isend-irecv, the inner points updated between posting and waiting', &
    'as overlap, the device''s loops asynchronous']

  type :: settings
    logical :: chosen(first_step:last_step) = .true.
    character(len=:), allocatable :: device                 ! auto, host, gpu
    integer :: device_number = -1                           ! of gpu:N
    integer :: size(3) = 0, local(3) = 48, procs(3) = 0     ! size, procs: 0 if not given
    integer :: steps = 100
    logical :: reverse = .false.
    character(len=:), allocatable :: profiles, json         ! a directory and a file; may be empty
  end type settings

contains

  integer function parse(set, message) result(what)
    type(settings), intent(inout) :: set
    character(len=:), allocatable, intent(inout) :: message
    character(len=:), allocatable :: name, value
    integer :: place, equals
    logical :: has_value
    set%device = 'auto'
    set%profiles = ''
    set%json = ''
    what = parsed_run
    place = 0
    do while (place < command_argument_count())
      place = place + 1
      name = argument(place)
      select case (name)
      case ('--help', '-h')
        what = parsed_help
        return
      case ('--list')
        what = parsed_list
        return
      case ('--reverse')
        set%reverse = .true.
        cycle
      end select
      value = ''
      equals = index(name, '=')
      has_value = equals > 0 .or. place < command_argument_count()
      if (equals > 0) then
        value = name(equals + 1:)
        name = name(:equals - 1)
      else if (has_value) then
        place = place + 1
        value = argument(place)
      end if
      call take(name, value, set, message)
      if (allocated(message)) then
        if (has_value .and. index(message, ' requires ') > 0) message = message // ', not ''' // value // ''''
        what = parsed_error
        return
      end if
    end do
  end function parse

  ! Parses one option; sets a message if it is unknown, or does not accept the value.
  subroutine take(name, value, set, message)
    character(len=*), intent(in) :: name, value
    type(settings), intent(inout) :: set
    character(len=:), allocatable, intent(inout) :: message
    character(len=:), allocatable :: wanted
    logical :: good
    wanted = 'X,Y,Z or N, each an integer of at least 1'
    select case (name)
    case ('--step', '--pattern')
      call take_steps(value, set, message)
      return
    case ('--device')
      wanted = 'host, gpu, gpu:N or auto'
      good = take_device(value, set)
    case ('--size')
      good = take_three(value, set%size)
    case ('--local')
      good = take_three(value, set%local)
    case ('--procs')
      wanted = 'PX,PY,PZ, each an integer of at least 1'
      good = index(value, ',') > 0
      if (good) good = take_three(value, set%procs)
    case ('--steps')
      wanted = 'an integer of at least 1'
      good = take_number(value, 1, set%steps)
    case ('--profiles')
      wanted = 'the name of a directory'
      set%profiles = value
      good = len(value) > 0
    case ('--json')
      wanted = 'the name of a file'
      set%json = value
      good = len(value) > 0
    case default
      message = 'unknown option ''' // name // '''; --help lists those there are'
      return
    end select
    if (.not. good) message = name // ' requires ' // wanted
  end subroutine take

  function argument(place) result(word)
    integer, intent(in) :: place
    character(len=:), allocatable :: word
    integer :: length
    call get_command_argument(place, length=length)
    allocate (character(len=length) :: word)
    call get_command_argument(place, word)
  end function argument

  logical function take_number(word, least, value) result(good)
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
  end function take_number

  ! Parses "N" (N along each axis) or "X,Y,Z".
  logical function take_three(word, values) result(good)
    character(len=*), intent(in) :: word
    integer, intent(inout) :: values(3)
    integer :: first, last
    first = index(word, ',')
    last = index(word, ',', back=.true.)
    if (first == 0) then
      good = take_number(word, 1, values(1))
      values = values(1)
      return
    end if
    good = first < last
    if (good) good = take_number(word(:first - 1), 1, values(1))
    if (good) good = take_number(word(first + 1:last - 1), 1, values(2))
    if (good) good = take_number(word(last + 1:), 1, values(3))
  end function take_three

  logical function take_device(word, set) result(good)
    character(len=*), intent(in) :: word
    type(settings), intent(inout) :: set
    set%device = word
    if (word == 'cuda') set%device = 'gpu'  ! the other programs' word
    good = word == 'auto' .or. word == 'host' .or. set%device == 'gpu'
    set%device_number = -1
    if (index(word, 'gpu:') == 1) then
      good = take_number(word(5:), 0, set%device_number)
      set%device = 'gpu'
    end if
  end function take_device

  ! Parses names, numbers or "stepN", separated by commas, or all. `message` stays unallocated when all are known.
  subroutine take_steps(word, set, message)
    character(len=*), intent(in) :: word
    type(settings), intent(inout) :: set
    character(len=:), allocatable, intent(inout) :: message
    character(len=:), allocatable :: rest, name
    character :: digit
    integer :: comma, step
    logical :: known
    set%chosen = .false.
    rest = word // ','
    do while (len(rest) > 0)
      comma = index(rest, ',')
      name = rest(:comma - 1)
      rest = rest(comma + 1:)
      known = name == 'all'
      if (known) set%chosen = .true.
      do step = first_step, last_step
        write (digit, '(i1)') step
        if (name == digit .or. name == 'step' // digit .or. name == step_names(step)) then
          known = .true.
          set%chosen(step) = .true.
        end if
      end do
      if (known) cycle
      message = 'there is no step ''' // name // ''' here; 3 to 9, their names (--list), or all would do'
      return
    end do
  end subroutine take_steps

  subroutine usage()
    print '(a)', 'usage: mpiexec -n N halo3d-openacc [options]', &
      'Moves three fields through a periodic box of blocks, one a rank, by OpenACC''s directives.', &
      '  --step LIST          3 to 9, or their names, separated by commas; all (the default). Also --pattern', &
      '  --list               the steps', &
      '  --device KIND        where directives run: host, gpu (or cuda), gpu:N (that one for every rank), or auto:', &
      '                       a GPU where every rank finds one (the default)', &
      '  --size N | X,Y,Z     points of the whole box', &
      '  --local N | X,Y,Z    points of each rank, instead of --size (48)', &
      '  --procs PX,PY,PZ     ranks along each axis (MPI_Dims_create)', &
      '  --steps N            how often the fields move (100)', &
      '  --reverse            towards lower coordinates', &
      '  --profiles DIR       write each rank''s profiles along x, y and z to this directory, which is there', &
      '  --json FILE          write the results there', &
      '  --help               this text', &
      'Exit codes: 0 all valid; 1 a validation failed; 2 bad arguments; 3 a resource is missing.'
  end subroutine usage

end module options
