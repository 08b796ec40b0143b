// Macros for functions that programs built for MPICH call.
//
// MPICH's MPI_Send and that of libmpi_abi.so.1 have the same name but different arguments. So a function here has
// different names in C++ and for the linker, and the functions of libmpi_abi.so.1 are called by address.
#pragma once

#include "mpi.h"
#include "mpich/standard.hpp"

namespace hr::mpich {

// Addresses of libmpi_abi.so.1's functions, set when this library is loaded (load.cpp).
extern Standard standard;

}  // namespace hr::mpich

#define HR_EXPORT __attribute__((visibility("default")))
// Defines the function PMPI_X: HR_ENTRY(MPI_X, int entry_MPI_X(...)) { body }
#define HR_ENTRY(name, ...)                            \
  extern "C" HR_EXPORT __VA_ARGS__ __asm__("P" #name); \
  extern "C" __VA_ARGS__
// Defines MPI_X, which a tool may replace.
#define HR_ALIAS(name, target) \
  extern "C" HR_EXPORT decltype(entry_##target) alias_##name __asm__(#name) __attribute__((weak, alias("P" #target)))
// Defines both names of a function that now has another name.
#define HR_ALIAS_BOTH(name, target) \
  HR_ALIAS(name, target);           \
  extern "C" HR_EXPORT decltype(entry_##target) alias_P##name __asm__("P" #name) __attribute__((alias("P" #target)))
