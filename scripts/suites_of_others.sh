#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suites_of_others.sh WHEEL [SKFEM]: suites and examples of other Python packages, with Tessera's solvers in place of
# SciPy's (bench/peers/instead_of_scipy.py), and with SciPy's own beside. Prints versions and counts. Not in CI: it
# installs PyPI's packages of the versions below in a temporary folder, and clones scikit-fem's examples, unless SKFEM
# is a clone. WHEEL: such as that of `bash scripts/python.sh build LIBRARY`, in build/python/wheels. KEEP=FOLDER keeps
# what the suites print.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n 3,7p "$0"; exit 2; }
wheel=$(readlink -f "$1")
skfem=${2:+$(readlink -f "$2")}
packages=(numpy==2.4.6 scipy==1.17.1 pyamg==5.4.1 scikit-image==0.25.2 statsmodels==0.15.0 scikit-fem==12.0.0
    pandapower==3.5.6 meshio==5.3.5 jax==0.10.2 shapely==2.1.2 matplotlib==3.10.8
    pytest==9.2.0)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 -m venv v && v/bin/pip install -q --disable-pip-version-check uv &&
    v/bin/uv pip install -q --python v/bin/python "${packages[@]}" "$wheel" || exit 1
echo "${packages[*]} $(basename "$wheel")"
if [ -z "$skfem" ]; then
    git clone -q --depth 1 --branch 12.0.0 https://github.com/kinnala/scikit-fem && skfem=$folder/scikit-fem
fi
export PYTHONPATH=$here/bench/peers MPLBACKEND=Agg PYTHONWARNINGS=ignore
printf '[pytest]\n' >pytest.ini # not the package's own, which names plug-ins
site=$(v/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")

# What a program prints at its end: counts, and Tessera's calls.
counts()
{
    grep -E '^calls of Tessera|[0-9]+ (passed|failed)|^ex[0-9]+ failed' | sed 's/^=* *//; s/ *=*$//; s/^/    /'
}

# NAME COMMAND...: with SciPy's solvers, then with ours.
suite()
{
    local name=$1
    shift
    for with in scipy tessera; do
        echo "$name, $with:"
        SUITES_WITH=$with "$@" >"$folder/log" 2>&1
        counts <"$folder/log"
        [ -z "${KEEP:-}" ] || cp "$folder/log" "$KEEP/$(echo "$name" | tr ' ' -).$with.log"
    done
}

tests()
{
    v/bin/python -m pytest -q -c "$folder/pytest.ini" -p instead_of_scipy -p no:cacheprovider "$@"
}
# shellcheck disable=SC2317 # suite calls it
examples()
{
    local good=0 bad=0 example
    for example in "$skfem"/docs/examples/ex[0-9]*.py; do
        example=$(basename "$example" .py)
        if (cd "$skfem" && timeout 600 "$folder/v/bin/python" -c "
import instead_of_scipy, runpy
runpy.run_module('docs.examples.$example', run_name='example')"); then
            good=$((good + 1))
        else
            bad=$((bad + 1)) && echo "$example failed"
        fi
    done
    echo "$good passed, $bad failed"
}

suite "PyAMG krylov" tests "$site/pyamg/krylov/tests"
suite "PyAMG multilevel" tests "$site/pyamg/tests"
suite "scikit-image random_walker" tests "$site/skimage/segmentation/tests/test_random_walker.py"
suite "statsmodels filters" tests "$site/statsmodels/tsa/filters/tests"
echo "pandapower power flows, both:" && v/bin/python "$here/bench/peers/power_flows.py" 2>&1 | counts
[ -z "$skfem" ] || suite "scikit-fem examples" examples
