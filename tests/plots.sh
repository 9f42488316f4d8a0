#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws every kind of picture from small samples. Exit code 77: there is no python3 with matplotlib.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import matplotlib' 2>/dev/null; then
        exec "$python" "$root/bench/report.py" plot --self-test "$root/tests/plots"
    fi
done
echo "SKIPPED: needs python3 with matplotlib (Debian: python3-matplotlib)"
exit 77
