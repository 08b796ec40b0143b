/* mpix.h: the extensions of Headrace; the same as mpi-ext.h, under the name that the other half of programs includes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPIX_H_HEADRACE
#define MPIX_H_HEADRACE

#include "mpi-ext.h"

#endif /* MPIX_H_HEADRACE */
