# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share: a temporary folder, pinned packages, and a comparison. Sourced.
set -eu
export LC_ALL=C OMP_NUM_THREADS=1
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# from_pypi PACKAGE==VERSION...: an environment with these alone; its Python is ./v/bin/python
from_pypi()
{
    python3 -m venv v
    v/bin/pip install -q --disable-pip-version-check "$@"
}

# from_debian PACKAGE VERSION: exit 77 where it is not installed in that version
from_debian()
{
    local there
    there=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null) || there=none
    if [ "$there" != "$2" ]; then
        echo "skipped: needs Debian's $1 $2; installed: $there"
        exit 77
    fi
}

# same FILE: compares FILE with standard input, line by line; exit 1 if the behaviour has changed
same()
{
    cat "$1"
    diff -u - "$1" >difference || { echo "changed (-: as found, +: now)"; cat difference; exit 1; }
    echo "as found"
}
