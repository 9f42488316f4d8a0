#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws every kind of picture from small samples. Exit code 77: there is no python3 with matplotlib.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import matplotlib' 2>/dev/null; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        cp "$root"/tests/plots/*.{json,jsonl,csv} "$work" || exit 1
        "$python" "$root/tests/plots/make_wave.py" "$work" || exit 1
        "$python" "$root/bench/report.py" plot --self-test "$work"
        exit
    fi
done
echo "SKIPPED: needs python3 with matplotlib (Debian: python3-matplotlib)"
exit 77
