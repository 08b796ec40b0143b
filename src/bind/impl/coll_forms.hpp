// The three forms of a collective: describe it with its function of coll.hpp, then carry it out.
#pragma once

#include "coll/coll.hpp"

namespace hr::bind::impl {

template <class Describe, class... Arguments>
Status blocking(Describe* describe, Arguments&&... arguments) {
  coll::Call call;
  HR_TRY(describe(call, arguments...));
  return coll::run(call);
}

template <class Describe, class... Arguments>
Status nonblocking(p2p::Request*& request, Describe* describe, Arguments&&... arguments) {
  coll::Call call;
  HR_TRY(describe(call, arguments...));
  return coll::start(call, &request);
}

template <class Describe, class... Arguments>
Status persistent(p2p::Request*& request, Describe* describe, Arguments&&... arguments) {
  coll::Call call;
  HR_TRY(describe(call, arguments...));
  return coll::init(call, &request);
}

}  // namespace hr::bind::impl
