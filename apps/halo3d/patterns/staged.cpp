// Step 3: packs on the device, and sends from host memory, as a program must if its MPI library is not GPU-aware.
#include "patterns/sequence.hpp"

namespace halo3d {

using Call = HaloMessages::Call;

extern const PatternRecord kStaged;
const PatternRecord kStaged = {"staged", kNone, 3, "as packed, messages through the host",
                               [](const Setup& setup) -> std::unique_ptr<Pattern> {
                                 return std::make_unique<Sequence>(
                                     setup, true, Sequence::Calls{Call::kSendrecv, Call::kSendrecv, Call::kSendrecv});
                               }};

}  // namespace halo3d
