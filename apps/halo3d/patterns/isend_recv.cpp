// Step 6: like packed, with MPI_Isend and MPI_Recv in all directions.
#include "patterns/sequence.hpp"

namespace halo3d {

using Call = HaloMessages::Call;

extern const PatternRecord kIsendRecv;
const PatternRecord kIsendRecv = {
    "isend-recv", 6, 6, "as packed, MPI_Isend and MPI_Recv", [](const Setup& setup) -> std::unique_ptr<Pattern> {
      return std::make_unique<Sequence>(setup, false,
                                        Sequence::Calls{Call::kIsendRecv, Call::kIsendRecv, Call::kIsendRecv});
    }};

}  // namespace halo3d
