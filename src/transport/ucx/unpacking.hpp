// Unpacking: the UCX datatype for data that is unpacked in pieces (transport::Sink::unpack).
//
// Owner: the transport; created on first use. Threads: library lock.
#pragma once

#include <cstddef>

#include "transport/transport.hpp"
#include "transport/ucx/library.hpp"

namespace hr::transport::ucx {

class Unpacking {
 public:
  explicit Unpacking(const Library& library) : library_(library) {}
  ~Unpacking();
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

  // Sets the arguments of a UCX receive into that sink.
  Status describe(Sink* into, ucp_request_param_t* how, void** buffer, std::size_t* count);

 private:
  const Library& library_;
  ucp_datatype_t type_ = 0;
};

}  // namespace hr::transport::ucx
