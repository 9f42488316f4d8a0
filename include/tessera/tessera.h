/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tessera.h  The C interface of Tessera, except papers.h.
 *
 *     tess_solve_options options;
 *     tess_solve_options_init(&options);        sets options.size and the defaults
 *     options.rtol = 1e-10;
 *
 * A struct that begins with `size` may grow at its end in a later version, unless it is a member of another. Its _init
 * function, inline, passes the size by the program's headers. The library writes no more, and accepts the smaller size
 * of an older program: what that does not know has its default. It refuses 0 and sizes above its own with
 * INVALID_ARGUMENT. All other structs, and all members, keep their length: their `reserved` words must be zeros until a
 * later version names them (tests/abi). The library reads options, and what they point to, only during the call.
 * Examples: examples/c.
 *
 * NULL for an object, a result or an array that a function needs is INVALID_ARGUMENT, as is an enum out of range;
 * functions without a status return 0, NULL or "". Objects may be destroyed in any order: each keeps what it was made
 * from. Arrays of the caller that an object borrows, and user pointers, must stay valid until its last use.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <tessera/accessor.h>
#include <tessera/accuracy.h>
#include <tessera/advise.h>
#include <tessera/automatic.h>
#include <tessera/batch.h>
#include <tessera/checkpoint.h>
#include <tessera/codec.h>
#include <tessera/columns.h>
#include <tessera/context.h>
#include <tessera/dense.h>
#include <tessera/digits.h>
#include <tessera/estimate.h>
#include <tessera/findings.h>
#include <tessera/gallery.h>
#include <tessera/io.h>
#include <tessera/many.h>
#include <tessera/matrix.h>
#include <tessera/names.h>
#include <tessera/options.h>
#include <tessera/order.h>
#include <tessera/phase.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/precond.h>
#include <tessera/reason.h>
#include <tessera/residual.h>
#include <tessera/schedule.h>
#include <tessera/sequence.h>
#include <tessera/solver.h>
#include <tessera/status.h>
#include <tessera/timestep.h>
#include <tessera/two_word.h>
#include <tessera/vector.h>
#include <tessera/verify.h>
#include <tessera/version.h>

#endif
