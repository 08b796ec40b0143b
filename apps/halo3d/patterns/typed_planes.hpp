// Committed datatypes for the planes of one field that are sent and received. Must be destroyed before MPI_Finalize.
#pragma once

#include <mpi.h>

#include <array>

#include "shape.hpp"

namespace halo3d {

inline MPI_Datatype element_type(const Shape& shape) { return shape.element_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE; }

class TypedPlanes {
 public:
  explicit TypedPlanes(const Shape& shape) {
    for (int axis = 0; axis < kAxes; ++axis) {
      for (int way = 0; way < kWays; ++way) {
        send_[axis][way] = plane_type(shape, send_box(shape, axis, way));
        receive_[axis][way] = plane_type(shape, receive_box(shape, axis, way));
      }
    }
  }
  ~TypedPlanes() {
    for (auto* types : {&send_, &receive_}) {
      for (auto& axis : *types) {
        for (MPI_Datatype& type : axis) MPI_Type_free(&type);
      }
    }
  }
  TypedPlanes(const TypedPlanes&) = delete;
  TypedPlanes& operator=(const TypedPlanes&) = delete;

  MPI_Datatype send(int axis, int way) const { return send_[axis][way]; }
  MPI_Datatype receive(int axis, int way) const { return receive_[axis][way]; }

 private:
  using Types = std::array<std::array<MPI_Datatype, kWays>, kAxes>;

  static MPI_Datatype plane_type(const Shape& shape, const Box& box) {
    const int sizes[] = {shape.length(0), shape.length(1), shape.length(2)};
    const int subsizes[] = {box.extent(0), box.extent(1), box.extent(2)};
    MPI_Datatype type;
    MPI_Type_create_subarray(kAxes, sizes, subsizes, box.lo.data(), MPI_ORDER_FORTRAN, element_type(shape), &type);
    MPI_Type_commit(&type);
    return type;
  }

  Types send_, receive_;
};

}  // namespace halo3d
