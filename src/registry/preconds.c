/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioners of this build: preconds.def has the list. */
#include "precond/precond.h"

#define PRECOND(name) extern const tess_precond_ops precond_##name;
#include "registry/preconds.def"
#undef PRECOND

#define PRECOND(name) &precond_##name,
static const tess_precond_ops *const preconds[] = {
#include "registry/preconds.def"
    NULL};
#undef PRECOND

const tess_precond_ops *tess_find_precond(tess_precond_kind kind)
{
    for (const tess_precond_ops *const *ops = preconds; *ops; ops++) {
        if ((*ops)->kind == kind) { return *ops; }
    }
    return NULL;
}
