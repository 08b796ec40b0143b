// Elements of random collectives and results of operations on them, without the library: the oracle.
//
// The model of an element is two integers, small enough that every type holds the results of every operation
// exactly, whatever the order: results are compared bit by bit.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace random_collectives {

struct Element {
  std::int64_t a = 0, b = 0;
};

// Values of the elements before the operation.
enum class Values { kSmall, kFactors, kTruths };

struct Type {
  std::string name;
  MPI_Datatype type;
  std::size_t bytes;
  void (*store)(const Element& element, void* to);
  unsigned families;  // families of the operations with which it can be used
};

struct Operation {
  std::string name;
  MPI_Op op;
  unsigned family;
  Values values;
  Element (*combine)(const Element& left,
                     const Element& right);  // combines elements of neighbouring ranks, with the lower rank on the left
};

// Types and operations of this library: owns those that had to be created. Must be destroyed before MPI_Finalize.
class Catalogue {
 public:
  Catalogue();
  ~Catalogue();
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const std::vector<Type>& types() const { return types_; }
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  std::vector<Type> types_;
  std::vector<Operation> operations_;
  MPI_Datatype affine_ = MPI_DATATYPE_NULL;
  MPI_Op compose_ = MPI_OP_NULL, add_ = MPI_OP_NULL;
};

// Returns element `index` of the data that `rank` contributes to call `call`.
Element value_of(int call, int rank, int index, Values values);

}  // namespace random_collectives
