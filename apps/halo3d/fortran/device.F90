! The device on which the directives run.
module device
#ifdef _OPENACC
  use openacc
#endif
  use mpi_f08
  implicit none
  private
  public :: choose_device

#ifdef _OPENACC
  integer, parameter, public :: at_once = acc_async_sync    ! the "queue" of loops that end before the host goes on
#else
  integer, parameter, public :: at_once = -2
#endif

contains

  ! Chooses this rank's GPU on its node; called before any directive. `kind` is host, gpu or auto; `number` is that of a
  ! GPU, or negative. False, with a message, if there is no such device.
  logical function choose_device(kind, number, on_gpu, message) result(good)
    character(len=*), intent(in) :: kind
    integer, intent(in) :: number
    logical, intent(out) :: on_gpu
    character(len=:), allocatable, intent(inout) :: message
    type(MPI_Comm) :: node
    integer :: local, count
    character(len=12) :: last
    good = .true.
    on_gpu = .false.
    if (kind /= 'host') then
      call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
      call MPI_Comm_rank(node, local)
      call MPI_Comm_free(node)
      count = 0
#ifdef _OPENACC
      count = acc_get_num_devices(acc_device_not_host)
#endif
      call MPI_Allreduce(MPI_IN_PLACE, count, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
      on_gpu = count > 0 .and. number < count
      if (kind == 'gpu' .and. .not. on_gpu) then
        good = .false.
        if (count == 0) then
          message = '--device: the directives find no GPU on every rank; --device host does without'
        else
          write (last, '(i0)') count - 1
          message = '--device: there is no such device; gpu:0 to gpu:' // trim(last) // ' or --device host would do'
        end if
        return
      end if
    end if
#ifdef _OPENACC
    if (on_gpu) then
      call acc_set_device_num(merge(number, mod(local, count), number >= 0), acc_device_not_host)
    else
      call acc_set_device_type(acc_device_host)
    end if
#endif
  end function choose_device

end module device
