! Results of a run: text for people, JSON for programs. For rank 0 only.
module reports
  use, intrinsic :: iso_fortran_env, only: real64
  use boxes, only: box, axis_names
  use options, only: settings, step_names, step_sentences, first_step, last_step
  use runs, only: outcome
  use stopwatches, only: packing, exchanging, updating
  implicit none
  private
  public :: print_heading, print_table, print_steps, write_json

contains

  subroutine print_steps()
    integer :: step
    do step = first_step, last_step
      print '(i0, 1x, a, 1x, a)', step, step_names(step), trim(step_sentences(step))
    end do
  end subroutine print_steps

  subroutine print_heading(set, b, on_gpu)
    type(settings), intent(in) :: set
    type(box), intent(in) :: b
    logical, intent(in) :: on_gpu
    integer :: axis
    print '(9(a, i0), a, i0, a)', 'halo3d-openacc: ', b%ranks, ' ranks (', b%procs(1), ' x ', b%procs(2), ' x ', &
      b%procs(3), '), ', b%points(1), ' x ', b%points(2), ' x ', b%points(3), ' points a rank, ', b%size(1), ' x ', &
      b%size(2), ' x ', b%size(3), ' in all'
    print '(3a, i0, 2a)', '3 fields in single precision on ', trim(merge('the GPU ', 'the host', on_gpu)), ', ', set%steps, &
      ' steps', trim(merge(' in reverse', '           ', set%reverse))
    do axis = 1, 3
      if (b%procs(axis) == 1) print '(6a)', 'one rank along ', axis_names(axis), ': its messages in ', axis_names(axis), &
        ' go to itself, there is nothing to overlap'
    end do
  end subroutine print_heading

  subroutine print_table(results)
    type(outcome), intent(in) :: results(:)
    integer :: place
    print '(a4, 1x, a13, 7a10, a6, a10, a7, 2x, a)', 'step', 'name         ', 'total s', 'update %', 'MPI %', 'pack %', &
      'x s', 'y s', 'z s', 'msgs', 'bytes', 'valid', 'profiles md5'
    do place = 1, size(results)
      associate (r => results(place), t => results(place)%watch)
        print '(i4, 1x, a13, f10.3, 3f10.1, 3f10.3, i6, i10, a7, 2x, a)', r%step, step_names(r%step), r%seconds, &
          100 * t%part(updating) / r%seconds, 100 * t%part(exchanging) / r%seconds, 100 * t%part(packing) / r%seconds, &
          t%axis, nint(t%messages), nint(t%bytes), merge('    ok', 'FAILED', r%valid), trim(r%md5)
      end associate
    end do
    print '(a)', '(MPI: copies through the host as well; x, y, z: packing and MPI; msgs, bytes: sent by a rank in a step)'
  end subroutine print_table

  logical function write_json(set, b, on_gpu, results) result(good)
    type(settings), intent(in) :: set
    type(box), intent(in) :: b
    logical, intent(in) :: on_gpu
    type(outcome), intent(in) :: results(:)
    integer :: unit, error, place
    open (newunit=unit, file=set%json, status='replace', action='write', iostat=error)
    good = error == 0
    if (.not. good) return
    write (unit, '(3a, i0, 3(a, i0, a, i0, a, i0), a)') '{"program": "halo3d-openacc", "device": "', &
      trim(merge('cuda', 'host', on_gpu)), '", "ranks": ', b%ranks, ', "procs": [', b%procs(1), ', ', b%procs(2), ', ', &
      b%procs(3), '], "local": [', b%points(1), ', ', b%points(2), ', ', b%points(3), '], "size": [', b%size(1), ', ', &
      b%size(2), ', ', b%size(3), '],'
    write (unit, '(a, i0, 3a)') ' "steps": ', set%steps, ', "reverse": ', trim(merge('true ', 'false', set%reverse)), &
      ', "results": ['
    do place = 1, size(results)
      associate (r => results(place), t => results(place)%watch)
        write (unit, '(3a, i0, 4(a, es13.6), 2(a, i0), 6a)') '  {"pattern": "', trim(step_names(r%step)), '", "step": ', &
          r%step, ', "seconds": ', r%seconds, ', "update": ', t%part(updating), ', "mpi": ', t%part(exchanging), &
          ', "pack": ', t%part(packing), ', "messages_a_step": ', nint(t%messages), ', "bytes_a_step": ', nint(t%bytes), &
          ', "valid": ', trim(merge('true ', 'false', r%valid)), ', "md5": "', trim(r%md5), '"}', &
          merge(',', ' ', place < size(results))
      end associate
    end do
    write (unit, '(a)') ']}'
    close (unit, iostat=error)
    good = error == 0
  end function write_json

end module reports
