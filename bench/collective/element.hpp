// The element types of the collectives' buffers: their values are small integers, stored and compared exactly.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace bench {

struct Element {
  const char* name;
  MPI_Datatype type;
  int bytes;
  void (*store)(unsigned char* to, long value);
};

template <class T>
void store_as(unsigned char* to, long value) {
  const T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof element);
}

// Finds float, double or int; false for other names. MPI must be initialized, because some libraries create the handles
// in MPI_Init.
inline bool find_element(const std::string& name, Element& element) {
  const Element known[] = {{"float", MPI_FLOAT, 4, store_as<float>},
                           {"double", MPI_DOUBLE, 8, store_as<double>},
                           {"int", MPI_INT, 4, store_as<int>}};
  for (const Element& candidate : known) {
    if (name != candidate.name) continue;
    element = candidate;
    return true;
  }
  return false;
}

}  // namespace bench
