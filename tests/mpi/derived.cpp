// Derived datatypes on both sides: different layouts of the same signature, with every protocol, with gaps unchanged;
// types that are freed while in use; absolute addresses; one side derived and the other not.
#include <cstddef>
#include <numeric>
#include <vector>

#include "common/check.hpp"

namespace {

struct Particle {
  char kind;
  double position[3];
  int id;
  float mass;
};

MPI_Datatype particle_type() {
  const int lengths[] = {1, 3, 1, 1};
  const MPI_Aint places[] = {offsetof(Particle, kind), offsetof(Particle, position), offsetof(Particle, id),
                             offsetof(Particle, mass)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_FLOAT};
  MPI_Datatype exact, type;
  CHECK_OK(MPI_Type_create_struct(4, lengths, places, types, &exact));
  CHECK_OK(MPI_Type_create_resized(exact, 0, sizeof(Particle), &type));
  CHECK_OK(MPI_Type_free(&exact));
  CHECK_OK(MPI_Type_commit(&type));
  return type;
}

void structs(const check::Environment& mpi) {
  MPI_Datatype type = particle_type();
  for (const int count : {1, 7, 500, 20000}) {
    std::vector<Particle> particles(static_cast<std::size_t>(count));
    if (mpi.rank == 0) {
      for (int i = 0; i < count; ++i) {
        particles[static_cast<std::size_t>(i)] = {
            static_cast<char>('a' + i % 26), {i + 0.25, i + 0.5, i + 0.75}, i, static_cast<float>(i) / 2};
      }
      CHECK_OK(MPI_Send(particles.data(), count, type, 1, 1, MPI_COMM_WORLD));
    } else {
      CHECK_OK(MPI_Recv(particles.data(), count, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int i = 0; i < count; ++i) {
        const Particle& p = particles[static_cast<std::size_t>(i)];
        CHECK_EQ(p.kind, 'a' + i % 26);
        CHECK_EQ(p.position[2], i + 0.75);
        CHECK_EQ(p.id, i);
        CHECK_EQ(p.mass, static_cast<float>(i) / 2);
      }
    }
  }
  CHECK_OK(MPI_Type_free(&type));
}

// A transposition: rows on one side, columns on the other.
void transpose(const check::Environment& mpi) {
  for (const int edge : {3, 40, 400}) {
    const auto n = static_cast<std::size_t>(edge);
    MPI_Datatype column, columns;
    CHECK_OK(MPI_Type_vector(edge, 1, edge, MPI_DOUBLE, &column));
    CHECK_OK(MPI_Type_create_hvector(edge, 1, sizeof(double), column, &columns));
    CHECK_OK(MPI_Type_commit(&columns));
    CHECK_OK(MPI_Type_free(&column));  // component types may be freed
    std::vector<double> matrix(n * n);
    if (mpi.rank == 0) {
      std::iota(matrix.begin(), matrix.end(), 0.0);
      CHECK_OK(MPI_Send(matrix.data(), edge * edge, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
      CHECK_OK(MPI_Send(matrix.data(), 1, columns, 1, 1, MPI_COMM_WORLD));
    } else {
      for (int turn = 0; turn < 2; ++turn) {
        matrix.assign(n * n, -1);
        if (turn == 0) {
          CHECK_OK(MPI_Recv(matrix.data(), 1, columns, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
          CHECK_OK(MPI_Recv(matrix.data(), edge * edge, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) CHECK_EQ(matrix[i * n + j], static_cast<double>(j * n + i));
        }
      }
    }
    CHECK_OK(MPI_Type_free(&columns));
  }
}

// A type may be freed as soon as the operation has started (section 5.1.9).
void freed_in_flight(const check::Environment& mpi) {
  constexpr int kBlocks = 30000;
  std::vector<int> data(2 * kBlocks);
  MPI_Datatype type;
  CHECK_OK(MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  MPI_Request request;
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = mpi.rank == 0 ? static_cast<int>(i) : -1;
  if (mpi.rank == 0) {
    CHECK_OK(MPI_Isend(data.data(), 1, type, 1, 1, MPI_COMM_WORLD, &request));
  } else {
    CHECK_OK(MPI_Irecv(data.data(), 1, type, 0, 1, MPI_COMM_WORLD, &request));
  }
  CHECK_OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (std::size_t i = 0; i < data.size(); ++i) {
    CHECK_EQ(data[i], mpi.rank == 0 || i % 2 == 0 ? static_cast<int>(i) : -1);
  }
}

// Absolute addresses from MPI_BOTTOM: pieces of unrelated arrays in one message.
void absolute(const check::Environment& mpi) {
  std::vector<int> first(1000), second(1000);
  double third = 0;
  MPI_Aint places[3];
  CHECK_OK(MPI_Get_address(first.data(), &places[0]));
  CHECK_OK(MPI_Get_address(&second[500], &places[1]));
  CHECK_OK(MPI_Get_address(&third, &places[2]));
  const int lengths[] = {1000, 300, 1};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  CHECK_OK(MPI_Type_create_struct(3, lengths, places, types, &type));
  CHECK_OK(MPI_Type_commit(&type));
  if (mpi.rank == 0) {
    std::iota(first.begin(), first.end(), 0);
    std::iota(second.begin(), second.end(), 5000);
    third = 2.5;
    CHECK_OK(MPI_Send(MPI_BOTTOM, 1, type, 1, 1, MPI_COMM_WORLD));
  } else {
    CHECK_OK(MPI_Recv(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 1000; ++i) {
      CHECK_EQ(first[static_cast<std::size_t>(i)], i);
      CHECK_EQ(second[static_cast<std::size_t>(i)], i >= 500 && i < 800 ? 5000 + i : 0);
    }
    CHECK_EQ(third, 2.5);
  }
  CHECK_OK(MPI_Type_free(&type));
}

// One side packs its data with MPI_Pack (MPI_PACKED matches any type).
void packed(const check::Environment& mpi) {
  MPI_Datatype type = particle_type();
  std::vector<Particle> particles(100);
  int size = 0;
  CHECK_OK(MPI_Pack_size(100, type, MPI_COMM_WORLD, &size));
  std::vector<char> buffer(static_cast<std::size_t>(size));
  if (mpi.rank == 0) {
    for (int i = 0; i < 100; ++i) particles[static_cast<std::size_t>(i)] = {'x', {1.0 * i, 0, 0}, -i, 0};
    CHECK_OK(MPI_Send(particles.data(), 100, type, 1, 1, MPI_COMM_WORLD));
    int position = 0;
    CHECK_OK(MPI_Pack(particles.data(), 100, type, buffer.data(), size, &position, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(buffer.data(), position, MPI_PACKED, 1, 2, MPI_COMM_WORLD));
  } else {
    MPI_Status status;
    CHECK_OK(MPI_Recv(buffer.data(), size, MPI_PACKED, 0, 1, MPI_COMM_WORLD, &status));
    int length = 0, position = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_PACKED, &length));
    CHECK_OK(MPI_Unpack(buffer.data(), length, &position, particles.data(), 100, type, MPI_COMM_WORLD));
    CHECK_EQ(position, length);
    std::vector<Particle> others(100);
    CHECK_OK(MPI_Recv(others.data(), 100, type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; ++i) {
      CHECK_EQ(particles[static_cast<std::size_t>(i)].id, -i);
      CHECK_EQ(others[static_cast<std::size_t>(i)].id, -i);
      CHECK_EQ(others[static_cast<std::size_t>(i)].position[0], 1.0 * i);
    }
  }
  CHECK_OK(MPI_Type_free(&type));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  if (mpi.rank > 1) return 0;
  structs(mpi);
  transpose(mpi);
  freed_in_flight(mpi);
  absolute(mpi);
  packed(mpi);
}
