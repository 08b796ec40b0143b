! OpenACC allows it, GCC 12 refuses it: an allocatable array in use_device.
program allocatable
  implicit none
  real, allocatable :: a(:)
  allocate (a(8), source=0.0)
  !$acc data copy(a)
  !$acc host_data use_device(a)
  print '(z16.16)', loc(a)
  !$acc end host_data
  !$acc end data
end program allocatable
