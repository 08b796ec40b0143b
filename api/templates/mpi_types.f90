! The types of handles and statuses, which the modules mpi and mpi_f08 share.
module mpi_f08_types
  implicit none
  private
@TYPES@
end module
