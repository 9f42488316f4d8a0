#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# claims.sh TOOL [PART]: random claims in exact arithmetic (tests/claims/README.md): 10,000 runs of the tool, 3,000
# calls of the Python package, 1,000 solves of PETSc, 2,000 with --accuracy; and a table. PART: that many hundredths of
# them. SEED, PYTHON (default build/python/bin/python) and PETSC_PYTHON (default python3) are environment variables.
# TESSERA_PETSC is the plug-in's library. Each script's findings are in build/claims. Exit 1 if one of them found a
# fault, or is missing. Without PETSc its part is not run, with the reason in the table, and the others decide.
set -u
tool=$(realpath "${1:?usage: claims.sh TOOL [PART]}")
part=${2:-100}
cd "$(dirname "$0")/.." || exit 2
mkdir -p build/claims
seed=${SEED:-1}
python=${PYTHON:-build/python/bin/python}
petsc_python=${PETSC_PYTHON:-python3}
status=0
rows=""

# run NAME RUNS COMMAND...: runs it if it is there, and keeps its last line
run()
{
    local name=$1 runs=$(($2 * part / 100)) log=build/claims/$1.txt verdict="no fault"
    shift 2
    if [ -f "tests/claims/$name.py" ]; then
        "$@" --runs "$runs" --seed "$seed" >"$log" 2>&1 || { verdict="see $log"; status=1; }
    else
        echo "tests/claims/$name.py is missing" >"$log"
        verdict="not run"
        status=1
    fi
    rows+="| $name | $runs | $verdict | $(tail -n 1 "$log" | sed 's/^[a-z]*: //') |"$'\n'
}

# petsc_lacks: why PETSc's part cannot run, or nothing
petsc_lacks()
{
    if [ ! -f "${TESSERA_PETSC:-}" ]; then
        echo "TESSERA_PETSC names no plug-in"
    elif ! "$petsc_python" tests/claims/petsc.py --runs 0 >/dev/null 2>&1; then
        echo "$petsc_python has no petsc4py"
    elif ! command -v mpiexec >/dev/null; then
        echo "there is no mpiexec"
    fi
}

run tool 10000 python3 tests/claims/tool.py "$tool"
run python 3000 "$python" tests/claims/python.py
lack=$(petsc_lacks)
if [ -n "$lack" ]; then
    rows+="| petsc | 0 | not run | $lack |"$'\n'
else
    run petsc 1000 "$petsc_python" tests/claims/petsc.py
fi
run accuracy 2000 "$python" tests/claims/accuracy.py "$tool"
printf '| script | runs | verdict | counts |\n| --- | --- | --- | --- |\n%s' "$rows"
exit $status
