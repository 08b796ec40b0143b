/* mpix.h: the extensions of Headrace; the same as mpi-ext.h, under another name that some programs include.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPIX_H_HEADRACE
#define MPIX_H_HEADRACE

#include "mpi-ext.h"

#endif /* MPIX_H_HEADRACE */
