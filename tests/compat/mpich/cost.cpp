// Cost of a call: built twice, with Headrace's mpicxx and with MPICH's, and run alternately (cost.py). One rank.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

// Returns nanoseconds per round, the minimum of several repetitions.
template <class Round>
double least(Round round) {
  constexpr int kRounds = 20000, kRepetitions = 15;
  double best = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double start = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i) round();
    best = std::min(best, (MPI_Wtime() - start) / kRounds * 1e9);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  // With an argument: behaves like a program whose threads all call MPI.
  int level = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  char out[8] = {}, in[8];
  int rank = 0;
  MPI_Status status = {};
  MPI_Request requests[2];
  MPI_Datatype type;
  MPI_Type_contiguous(8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  // name, calls per round, ns per round
  std::printf("MPI_Comm_rank 1 %.2f\n", least([&] { MPI_Comm_rank(MPI_COMM_WORLD, &rank); }));
  std::printf("MPI_Type_size 1 %.2f\n", least([&] { MPI_Type_size(type, &rank); }));
  std::printf("MPI_Get_count 1 %.2f\n", least([&] { MPI_Get_count(&status, MPI_INT, &rank); }));
  std::printf("MPI_Isend+MPI_Recv+MPI_Wait 3 %.2f\n", least([&] {
                MPI_Isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]);
                MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &status);
                MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
              }));
  std::printf("MPI_Irecv+MPI_Isend+MPI_Waitall 3 %.2f\n", least([&] {
                MPI_Irecv(in, 1, type, 0, 1, MPI_COMM_SELF, &requests[0]);
                MPI_Isend(out, 1, type, 0, 1, MPI_COMM_SELF, &requests[1]);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
              }));
  MPI_Type_free(&type);
  return MPI_Finalize();
}
