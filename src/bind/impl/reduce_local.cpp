// MPI_Reduce_local (MPI 5.0 section 6.9.7): only the operation, without communication.
#include "bind/impl.hpp"
#include "coll/coll.hpp"

namespace hr::bind::impl {

Status reduce_local(const void* inbuf, void* inoutbuf, Count count, layout::Datatype& datatype, layout::Op& op) {
  return coll::reduce_local(inbuf, inoutbuf, count, datatype, op);
}

}  // namespace hr::bind::impl
