#include "bind/entry.hpp"

#include "comm/topology.hpp"

namespace hr::bind {

int TypeList::resolve(const MPI_Datatype* handles, int n, CountArray counts, bool must_be_committed) {
  size_ = static_cast<std::size_t>(n);
  if (size_ > kInline) heap_ = std::make_unique<layout::Datatype*[]>(size_);
  layout::Datatype** types = heap_ ? heap_.get() : inline_;
  for (std::size_t i = 0; i < size_; ++i) {
    types[i] = must_be_committed ? committed(handles[i]) : lookup<layout::Datatype>(handles[i]);
    if (types[i] != nullptr) continue;
    if (counts.is_null() || counts[i] != 0) return static_cast<int>(i);
    types[i] = byte_type();
  }
  return -1;
}

int sources_of(const comm::Communicator& comm) {
  return comm.topology_ ? static_cast<int>(comm.topology_->neighbors(comm.rank()).sources.size()) : 0;
}

int destinations_of(const comm::Communicator& comm) {
  return comm.topology_ ? static_cast<int>(comm.topology_->neighbors(comm.rank()).destinations.size()) : 0;
}

}  // namespace hr::bind
