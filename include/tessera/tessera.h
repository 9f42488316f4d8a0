/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tessera.h  All of Tessera's C interface, but for papers.h.
 *
 * Structs that begin with `size` may grow at their end: their _init function sets it, and the library takes the size of an
 * older caller for what it is. It refuses 0 and sizes above its own with INVALID_ARGUMENT. A struct that is a member of
 * another keeps its length: its `reserved` words are zeros until a later version names them, and refused otherwise.
 * Pointers to options and to what they point to are read during the call alone.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <tessera/accessor.h>
#include <tessera/codec.h>
#include <tessera/context.h>
#include <tessera/dense.h>
#include <tessera/digits.h>
#include <tessera/gallery.h>
#include <tessera/io.h>
#include <tessera/matrix.h>
#include <tessera/names.h>
#include <tessera/order.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/precond.h>
#include <tessera/solver.h>
#include <tessera/status.h>
#include <tessera/steps.h>
#include <tessera/timestep.h>
#include <tessera/vector.h>

#endif
