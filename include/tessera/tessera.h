/* SPDX-License-Identifier: Apache-2.0 */
/** @file tessera.h  All of Tessera's C interface. */
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
