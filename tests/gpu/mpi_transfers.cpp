// Point-to-point between every pair of memory kinds, for contiguous and derived types of small and large messages: each
// rank sends to the next and receives from the previous one. Received data, including holes, is compared byte by byte
// with the results of MPI_Pack and MPI_Unpack on host memory.
#include <cstdio>
#include <string>

#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;

struct Shape {
  std::string name;
  MPI_Datatype type;
  int count;
  std::size_t bytes;  // size of a buffer for it
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  const auto add = [&](const char* name, MPI_Datatype type, int count, bool derived) {
    if (derived) CHECK_OK(MPI_Type_commit(&type));
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lb = 0;
    MPI_Aint true_extent = 0;
    CHECK_OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK_OK(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    all.push_back({name, type, count, static_cast<std::size_t>((count - 1) * extent + true_lb + true_extent) + 32});
  };
  add("nothing", MPI_INT, 0, false);
  all.back().bytes = 64;
  add("one int", MPI_INT, 1, false);
  add("4 KB", MPI_BYTE, 4096, false);
  add("1 MB and a bit", MPI_BYTE, (1 << 20) + 5, false);

  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(20, 1, 3, MPI_INT, &type));
  add("small vector", type, 1, true);
  CHECK_OK(MPI_Type_vector(50000, 1, 3, MPI_INT, &type));
  add("large vector", type, 1, true);
  const int sizes[] = {66, 66, 66};
  for (int axis = 0; axis < 3; ++axis) {
    int subsizes[] = {64, 64, 64};
    subsizes[axis] = 1;
    const int starts[] = {1, 1, 1};
    CHECK_OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &type));
    const char* names[] = {"face across axis 0", "face across axis 1", "face across axis 2"};
    add(names[axis], type, 1, true);
  }
  std::vector<int> lengths;
  std::vector<int> displacements;
  int at = 0;
  for (int i = 0; i < 2000; ++i) {
    lengths.push_back(1 + i * 7 % 5);
    displacements.push_back(at += 6 + i % 3);
  }
  CHECK_OK(MPI_Type_indexed(2000, lengths.data(), displacements.data(), MPI_SHORT, &type));
  add("indexed", type, 5, true);
  const int struct_lengths[] = {1, 3, 1};
  const MPI_Aint struct_displacements[] = {0, 4, 24};
  const MPI_Datatype struct_types[] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype plain = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_create_struct(3, struct_lengths, struct_displacements, struct_types, &plain));
  CHECK_OK(MPI_Type_create_resized(plain, 0, 40, &type));
  CHECK_OK(MPI_Type_free(&plain));
  add("structs", type, 3000, true);
  return all;
}

std::vector<std::byte> arrived(const Shape& shape, unsigned from_salt, unsigned to_salt) {
  const std::vector<std::byte> from = content(shape.bytes, from_salt);
  std::vector<std::byte> to = content(shape.bytes, to_salt);
  int packed_bytes = 0;
  CHECK_OK(MPI_Pack_size(shape.count, shape.type, MPI_COMM_SELF, &packed_bytes));
  std::vector<std::byte> packed(static_cast<std::size_t>(packed_bytes) + 1);
  int position = 0;
  CHECK_OK(MPI_Pack(from.data(), shape.count, shape.type, packed.data(), packed_bytes, &position, MPI_COMM_SELF));
  int taken = 0;
  CHECK_OK(MPI_Unpack(packed.data(), position, &taken, to.data(), shape.count, shape.type, MPI_COMM_SELF));
  return to;
}

class Ring {
 public:
  Ring(const check::Environment& mpi, const Shape& shape, MemoryKind from_kind, MemoryKind to_kind)
      : shape_(shape),
        next_((mpi.rank + 1) % mpi.size),
        previous_((mpi.rank + mpi.size - 1) % mpi.size),
        from_(shape.bytes, from_kind),
        to_(shape.bytes, to_kind),
        what_(shape.name + " from " + name_of(from_kind) + " to " + name_of(to_kind)) {
    from_.put(content(shape.bytes, static_cast<unsigned>(mpi.rank)));
    expected_ = arrived(shape, static_cast<unsigned>(previous_), kEmpty);
  }

  void sendrecv() {
    begin();
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(from_.get(), shape_.count, shape_.type, next_, 1, to_.get(), shape_.count, shape_.type,
                          previous_, 1, MPI_COMM_WORLD, &status));
    end(status, "MPI_Sendrecv");
  }
  void expected_receive() {
    begin();
    MPI_Request requests[2];
    CHECK_OK(MPI_Irecv(to_.get(), shape_.count, shape_.type, previous_, 2, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Issend(from_.get(), shape_.count, shape_.type, next_, 2, MPI_COMM_WORLD, &requests[1]));
    MPI_Status statuses[2];
    CHECK_OK(MPI_Waitall(2, requests, statuses));
    end(statuses[0], "MPI_Irecv before MPI_Issend");
  }
  void unexpected_receive() {
    begin();
    MPI_Request request;
    CHECK_OK(MPI_Isend(from_.get(), shape_.count, shape_.type, next_, 3, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Status status;
    MPI_Message message;
    CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
    CHECK_OK(MPI_Mrecv(to_.get(), shape_.count, shape_.type, &message, &status));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    end(status, "MPI_Mrecv after MPI_Isend");
  }
  void to_self() {
    begin();
    MPI_Status status;
    int rank = 0;
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_OK(MPI_Sendrecv(from_.get(), shape_.count, shape_.type, 0, 4, to_.get(), shape_.count, shape_.type, 0, 4,
                          MPI_COMM_SELF, &status));
    const auto mine = arrived(shape_, static_cast<unsigned>(rank), kEmpty);
    if (to_.read() != mine) check::fail(__FILE__, __LINE__, what_ + ": a message to itself arrived wrong");
  }

 private:
  static constexpr unsigned kEmpty = 1000;
  void begin() { to_.put(content(shape_.bytes, kEmpty)); }
  void end(const MPI_Status& status, const char* how) {
    CHECK_EQ(status.MPI_SOURCE, previous_);
    int count = -1;
    CHECK_OK(MPI_Get_count(&status, shape_.type, &count));
    CHECK_EQ(count, shape_.count);
    const std::vector<std::byte> found = to_.read();
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != expected_[i]) {
        check::fail(
            __FILE__, __LINE__,
            what_ + ", " + how + ": byte " + std::to_string(i) + " of " + std::to_string(found.size()) + " is wrong");
      }
    }
  }

  const Shape& shape_;
  int next_;
  int previous_;
  Buffer from_;
  Buffer to_;
  std::string what_;
  std::vector<std::byte> expected_;
};

// The receive buffer is too short: checks the class of the error, and that nothing is written beyond the buffer.
void truncation(const check::Environment& mpi) {
  if (mpi.rank > 1) return;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (const MemoryKind kind : hr::test::kDeviceKinds) {
    Buffer buffer(1 << 16, kind);
    if (mpi.rank == 0) {
      CHECK_OK(MPI_Send(buffer.get(), 8000, MPI_INT, 1, 5, MPI_COMM_WORLD));
    } else {
      const auto before = content(1 << 16, 3);
      buffer.put(before);
      CHECK_CLASS(MPI_Recv(buffer.get(), 100, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      const auto after = buffer.read();
      CHECK(std::equal(after.begin() + 400, after.end(), before.begin() + 400));
    }
  }
  // A buffer that ends before the message does.
  Buffer buffer(4096, MemoryKind::kDevice);
  CHECK_CLASS(MPI_Send(buffer.get(), 1 << 28, MPI_INT, mpi.rank, 6, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv, 2);
  if (!hr::test::select_device()) return 0;
  std::vector<Shape> all = shapes();
  // With "all" (run.sh, on hardware), each pair uses every form of the calls; otherwise the forms alternate over the
  // pairs.
  const bool every_way = argc > 1 && std::string(argv[1]) == "all";
  unsigned turn = 0;
  for (const Shape& shape : all) {
    for (const MemoryKind from : hr::test::kAllKinds) {
      for (const MemoryKind to : hr::test::kAllKinds) {
        Ring ring(mpi, shape, from, to);
        const unsigned way = turn++ % 4;
        if (every_way || way == 0) ring.sendrecv();
        if (every_way || way == 1) ring.expected_receive();
        if (every_way || way == 2) ring.unexpected_receive();
        if (every_way || way == 3) ring.to_self();
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      }
    }
    ++turn;
  }
  truncation(mpi);
  for (std::size_t i = 4; i < all.size(); ++i) CHECK_OK(MPI_Type_free(&all[i].type));
  return 0;
}
