#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# add.sh TREE: adds the solver and the preconditioner of docs/howto/add-a-solver.md to a copy of the sources, a folder
# and three lines each. tests/dummy_format/run.sh builds that copy and runs them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
# insert FILE AFTER LINE: the line behind the one line that has AFTER, which gets a comma if it is the last of an enum
insert()
{
    [ "$(grep -c -- "$2" "$1")" = 1 ] || { echo "FAIL: $1 has not one line with $2"; exit 1; }
    sed -i -E "/$2/{s|( = [0-9]+) |\\1,|;a\\$3
}" "$1"
}

mkdir src/solver/steepest src/precond/powers
cp "$here/steepest.c" src/solver/steepest/
cp "$here/powers.c" src/precond/powers/
insert include/tessera/solver.h 'TESS_SOLVER_GMRES_FD = ' '    TESS_SOLVER_STEEPEST = 50, /**< steepest descent */'
insert include/tessera/precond.h 'TESS_PRECOND_CHOLESKY = ' '    TESS_PRECOND_POWERS = 50, /**< powers of two */'
sed -i -E 's|\{"gmres-fd", TESS_SOLVER_GMRES_FD\},|& {"steepest", TESS_SOLVER_STEEPEST},|
    s|\{"cholesky", TESS_PRECOND_CHOLESKY\},|& {"powers", TESS_PRECOND_POWERS},|' src/registry/names.c
echo 'SOLVER(steepest)' >>src/registry/solvers.def
echo 'PRECOND(powers)' >>src/registry/preconds.def
