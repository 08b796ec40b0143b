// Queries of datatypes: names, sizes, extents, construction; and types found by size or precision.
#include <cstring>
#include <string>

#include "../common/check.hpp"

namespace {

std::string name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME];
  std::memset(name, '?', sizeof name);
  int length = -7;
  CHECK_OK(MPI_Type_get_name(type, name, &length));
  CHECK(length >= 0 && length < MPI_MAX_OBJECT_NAME);
  CHECK_EQ(name[length], '\0');
  CHECK_EQ(std::strlen(name), length);
  return name;
}

void release(MPI_Datatype& type) {
  CHECK_OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
}

struct Envelope {
  int integers = -7, addresses = -7, types = -7, combiner = -7;
};

Envelope envelope_of(MPI_Datatype type) {
  Envelope found;
  CHECK_OK(MPI_Type_get_envelope(type, &found.integers, &found.addresses, &found.types, &found.combiner));
  return found;
}

void expect(int line, MPI_Datatype type, int integers, int addresses, int types, int combiner) {
  const Envelope found = envelope_of(type);
  check::equal(__FILE__, line, "the number of integers", found.integers, integers);
  check::equal(__FILE__, line, "the number of addresses", found.addresses, addresses);
  check::equal(__FILE__, line, "the number of types", found.types, types);
  check::equal(__FILE__, line, "the combiner", found.combiner, combiner);
}
#define EXPECT(...) expect(__LINE__, __VA_ARGS__)

void names() {
  CHECK_EQ(name_of(MPI_INT), std::string("MPI_INT"));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  CHECK_EQ(name_of(type), std::string());
  CHECK_OK(MPI_Type_set_name(type, "two ints"));
  CHECK_EQ(name_of(type), std::string("two ints"));
  CHECK_OK(MPI_Type_set_name(type, "pair"));
  CHECK_EQ(name_of(type), std::string("pair"));
  release(type);
}

// Two blocks of three ints, 8 bytes before and 40 after the origin, in an extent of 100 bytes from -20 on.
void blocks() {
  const MPI_Aint places[] = {40, -8};
  MPI_Datatype type = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL, inner = MPI_BYTE;
  CHECK_OK(MPI_Type_create_hindexed_block(2, 3, places, MPI_INT, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  EXPECT(type, 2, 2, 1, MPI_COMBINER_HINDEXED_BLOCK);
  int integers[] = {-7, -7};
  MPI_Aint addresses[] = {-7, -7};
  CHECK_OK(MPI_Type_get_contents(type, 2, 2, 1, integers, addresses, &inner));
  CHECK_EQ(integers[0], 2);
  CHECK_EQ(integers[1], 3);
  CHECK_EQ(addresses[0], 40);
  CHECK_EQ(addresses[1], -8);
  CHECK(inner == MPI_INT);

  CHECK_OK(MPI_Type_create_resized(type, -20, 100, &wide));
  CHECK(wide != MPI_DATATYPE_NULL);
  EXPECT(wide, 0, 2, 1, MPI_COMBINER_RESIZED);
  addresses[0] = addresses[1] = -7;
  CHECK_OK(MPI_Type_get_contents(wide, 0, 2, 1, integers, addresses, &inner));
  CHECK_EQ(addresses[0], -20);
  CHECK_EQ(addresses[1], 100);
  CHECK_EQ(envelope_of(inner).combiner, MPI_COMBINER_HINDEXED_BLOCK);
  release(inner);

  MPI_Count size = -7, low = -7, extent = -7;
  CHECK_OK(MPI_Type_size_x(wide, &size));
  CHECK_EQ(size, 24);
  CHECK_OK(MPI_Type_get_extent_x(wide, &low, &extent));
  CHECK_EQ(low, -20);
  CHECK_EQ(extent, 100);
  low = extent = -7;
  CHECK_OK(MPI_Type_get_true_extent_x(wide, &low, &extent));
  CHECK_EQ(low, -8);
  CHECK_EQ(extent, 60);
  int narrow_size = -7;
  MPI_Aint narrow_low = -7, narrow_extent = -7;
  CHECK_OK(MPI_Type_size(wide, &narrow_size));
  CHECK_EQ(narrow_size, 24);
  CHECK_OK(MPI_Type_get_extent(wide, &narrow_low, &narrow_extent));
  CHECK_EQ(narrow_low, -20);
  CHECK_EQ(narrow_extent, 100);
  narrow_low = narrow_extent = -7;
  CHECK_OK(MPI_Type_get_true_extent(wide, &narrow_low, &narrow_extent));
  CHECK_EQ(narrow_low, -8);
  CHECK_EQ(narrow_extent, 60);

  // The block that was defined first comes first in the data.
  int memory[20] = {}, in[6] = {};
  for (int i = 0; i < 20; ++i) memory[i] = i;
  CHECK_OK(MPI_Type_commit(&type));
  CHECK_OK(MPI_Sendrecv(memory + 2, 1, type, 0, 0, in, 6, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  const int wanted[] = {12, 13, 14, 0, 1, 2};
  CHECK_EQ(std::memcmp(in, wanted, sizeof wanted), 0);
  release(wide);
  release(type);
}

void large_blocks() {
  const MPI_Count places[] = {0, 16};
  MPI_Datatype type = MPI_DATATYPE_NULL, inner = MPI_BYTE;
  CHECK_OK(MPI_Type_create_hindexed_block_c(2, 2, places, MPI_SHORT, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  MPI_Count integers = -7, addresses = -7, counts = -7, types = -7, size = -7;
  int combiner = -7;
  CHECK_OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner));
  CHECK_EQ(integers, 0);
  CHECK_EQ(addresses, 0);
  CHECK_EQ(counts, 4);
  CHECK_EQ(types, 1);
  CHECK_EQ(combiner, MPI_COMBINER_HINDEXED_BLOCK);
  MPI_Count found[] = {-7, -7, -7, -7};
  CHECK_OK(MPI_Type_get_contents_c(type, 0, 0, 4, 1, nullptr, nullptr, found, &inner));
  const MPI_Count wanted[] = {2, 2, 0, 16};
  CHECK_EQ(std::memcmp(found, wanted, sizeof wanted), 0);
  CHECK(inner == MPI_SHORT);
  CHECK_OK(MPI_Type_size_c(type, &size));
  CHECK_EQ(size, 8);
  release(type);
}

// Programs must not free these types.
void fortran() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int size = -7, numbers[] = {-7, -7};
  CHECK_OK(MPI_Type_create_f90_real(12, 200, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  EXPECT(type, 2, 0, 0, MPI_COMBINER_F90_REAL);
  CHECK_OK(MPI_Type_get_contents(type, 2, 0, 0, numbers, nullptr, nullptr));
  CHECK_EQ(numbers[0], 12);
  CHECK_EQ(numbers[1], 200);
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQ(size, 8);

  type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_create_f90_complex(5, MPI_UNDEFINED, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  EXPECT(type, 2, 0, 0, MPI_COMBINER_F90_COMPLEX);
  CHECK_OK(MPI_Type_get_contents(type, 2, 0, 0, numbers, nullptr, nullptr));
  CHECK_EQ(numbers[0], 5);
  CHECK_EQ(numbers[1], MPI_UNDEFINED);
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQ(size, 8);

  type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_create_f90_integer(12, &type));
  CHECK(type != MPI_DATATYPE_NULL);
  EXPECT(type, 1, 0, 0, MPI_COMBINER_F90_INTEGER);
  CHECK_OK(MPI_Type_get_contents(type, 1, 0, 0, numbers, nullptr, nullptr));
  CHECK_EQ(numbers[0], 12);
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQ(size, 8);
}

void by_size() {
  const struct {
    int type_class, size;
  } cases[] = {{MPI_TYPECLASS_INTEGER, 2}, {MPI_TYPECLASS_INTEGER, 8}, {MPI_TYPECLASS_REAL, 4},
               {MPI_TYPECLASS_REAL, 8},    {MPI_TYPECLASS_COMPLEX, 8}, {MPI_TYPECLASS_COMPLEX, 16}};
  for (const auto& one : cases) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int size = -7;
    CHECK_OK(MPI_Type_match_size(one.type_class, one.size, &type));
    CHECK(type != MPI_DATATYPE_NULL);
    CHECK_OK(MPI_Type_size(type, &size));
    CHECK_EQ(size, one.size);
    EXPECT(type, 0, 0, 0, MPI_COMBINER_NAMED);
  }
}

void pairs() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
  CHECK(type == MPI_DOUBLE_INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &type));
  CHECK(type == MPI_2INT);
  type = MPI_BYTE;
  CHECK_OK(MPI_Type_get_value_index(MPI_CHAR, MPI_CHAR, &type));
  if (check::headrace()) CHECK(type == MPI_DATATYPE_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  names();
  blocks();
  large_blocks();
  fortran();
  by_size();
  pairs();
}
