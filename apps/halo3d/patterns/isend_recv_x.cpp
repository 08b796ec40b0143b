// Step 5: like packed, with MPI_Isend and MPI_Recv in x.
#include "patterns/sequence.hpp"

namespace halo3d {

using Call = HaloMessages::Call;

extern const PatternRecord kIsendRecvX;
const PatternRecord kIsendRecvX = {
    "isend-recv-x", 5, 5, "as packed, MPI_Isend and MPI_Recv in x", [](const Setup& setup) -> std::unique_ptr<Pattern> {
      return std::make_unique<Sequence>(setup, false,
                                        Sequence::Calls{Call::kIsendRecv, Call::kSendrecv, Call::kSendrecv});
    }};

}  // namespace halo3d
