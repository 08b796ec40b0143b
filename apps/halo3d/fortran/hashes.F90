! MD5 (RFC 1321): it names a result, and protects nothing.
module hashes
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: md5

  integer, parameter :: turns(4, 4) = reshape([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], [4, 4])
  integer(int64), parameter :: mask = 4294967295_int64  ! for the low half: Fortran has no unsigned numbers

contains

  function md5(text) result(hex)
    character(len=*), intent(in) :: text
    character(len=32) :: hex
    character(len=:), allocatable :: padded
    integer(int64) :: words(4)
    integer :: place
    ! The message, a 1 bit, zeros, and its length in bits make whole blocks of 64 bytes.
    padded = text // char(128) // repeat(char(0), modulo(55 - len(text), 64))
    do place = 0, 7
      padded = padded // char(iand(ishft(8_int64 * len(text), -8 * place), 255_int64))
    end do
    words = [int(z'67452301', int64), int(z'efcdab89', int64), int(z'98badcfe', int64), int(z'10325476', int64)]
    do place = 1, len(padded), 64
      call add(words, padded(place:place + 63))
    end do
    do place = 0, 15
      write (hex(2 * place + 1:2 * place + 2), '(z2.2)') ibits(words(place / 4 + 1), 8 * mod(place, 4), 8)
    end do
    do place = 1, len(hex)
      if (lge(hex(place:place), 'A')) hex(place:place) = achar(iachar(hex(place:place)) + 32)
    end do
  end function md5

  subroutine add(words, block)
    integer(int64), intent(inout) :: words(4)
    character(len=64), intent(in) :: block
    integer(int64) :: input(0:15), a, b, c, d, mixed, total
    integer :: i, step, turn
    do i = 0, 15
      input(i) = ichar(block(4 * i + 1:4 * i + 1)) + 256_int64 * (ichar(block(4 * i + 2:4 * i + 2)) + &
                 256_int64 * (ichar(block(4 * i + 3:4 * i + 3)) + 256_int64 * ichar(block(4 * i + 4:4 * i + 4))))
    end do
    a = words(1); b = words(2); c = words(3); d = words(4)
    do step = 0, 63
      select case (step / 16)
      case (0)
        mixed = ior(iand(b, c), iand(not(b), d))
        i = step
      case (1)
        mixed = ior(iand(d, b), iand(not(d), c))
        i = mod(5 * step + 1, 16)
      case (2)
        mixed = ieor(ieor(b, c), d)
        i = mod(3 * step + 5, 16)
      case default
        mixed = ieor(c, ior(b, iand(not(d), mask)))
        i = mod(7 * step, 16)
      end select
      ! The table of the RFC: the integer part of 2^32 * |sin(step + 1)|.
      total = iand(a + mixed + int(4294967296.0_real64 * abs(sin(step + 1.0_real64)), int64) + input(i), mask)
      turn = turns(mod(step, 4) + 1, step / 16 + 1)
      a = d
      d = c
      c = b
      b = iand(b + ior(ishft(total, turn), ishft(total, turn - 32)), mask)
    end do
    words = iand(words + [a, b, c, d], mask)
  end subroutine add

end module hashes
