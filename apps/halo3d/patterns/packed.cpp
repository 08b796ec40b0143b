// Steps 2 and 4: all directions are packed by hand, and one message carries the three fields. In step 4, MPI is passed
// device pointers.
#include "patterns/sequence.hpp"

namespace halo3d {

using Call = HaloMessages::Call;

extern const PatternRecord kPacked;
const PatternRecord kPacked = {"packed", 2, 4, "MPI_Sendrecv, packed by hand, one message for the three fields",
                               [](const Setup& setup) -> std::unique_ptr<Pattern> {
                                 return std::make_unique<Sequence>(
                                     setup, false, Sequence::Calls{Call::kSendrecv, Call::kSendrecv, Call::kSendrecv});
                               }};

}  // namespace halo3d
