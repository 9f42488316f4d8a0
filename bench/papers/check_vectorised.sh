#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Are loops over the accessor vectorised as loops over plain arrays are? Compiles the host's roofline loops, counts
# packed and scalar floating-point instructions in each, and says so (the paper's Figure 6 as numbers).
# Usage: check_vectorised.sh [--show FUNCTION]   (FUNCTION, e.g. loop_avx2_ACCESSOR_FP64_FP32_e1: its assembly)
# CC, CFLAGS: compiler and options (default cc, -O3). Exit code 77: nothing to check on this machine.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CC:-cc}
flags=${CFLAGS:--O3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip()
{
    echo "SKIPPED: $1"
    exit 77
}

# The instructions of a function, without their addresses and the jumps' targets.
instructions()
{
    awk -v name="<$1>:" '/^[0-9a-f]+ </ { inside = $2 == name; next }
        inside { sub(/^[^\t]*\t/, ""); sub(/ [0-9a-f]+ <.*/, ""); sub(/[ \t]*#.*/, ""); print }' "$work/all"
}

[ "$(uname -m)" = x86_64 ] || skip "counts x86-64 instructions, and this is $(uname -m)"
command -v objdump >/dev/null || skip "needs objdump (binutils)"
"$cc" --version | head -n 1 | grep -qiE 'gcc|\(debian|\(ubuntu' || skip "judges gcc's code, and $cc is another compiler"
# shellcheck disable=SC2086 # flags are several
"$cc" -std=c17 $flags -DNDEBUG -D_GNU_SOURCE= -ffp-contract=off -fopenmp -I"$root/include" -I"$root/src" \
    -I"$root/bench" -c "$root/bench/papers/roofline_host.c" -o "$work/loops.o" || exit 1
objdump -d --no-show-raw-insn "$work/loops.o" >"$work/all"

if [ "${1:-}" = --show ]; then
    awk -v name="<$2>:" '/^[0-9a-f]+ </ { inside = $2 == name } inside' "$work/all"
    exit 0
fi

# One line per loop: name, packed and scalar arithmetic, packed and scalar conversions.
awk '
/^[0-9a-f]+ </ { name = $2; gsub(/[<>:]/, "", name); loop = name ~ /^loop_/; if (loop) { order[++count] = name } next }
!loop { next }
{ op = $2 }
op ~ /^v?(f(n?madd|n?msub)[0-9]+|add|sub|mul|div)p[sd]$/ { packed[name]++ }
op ~ /^v?(f(n?madd|n?msub)[0-9]+|add|sub|mul|div)s[sd]$/ { scalar[name]++ }
op ~ /^v?cvt(t?p[sd]2|dq2)(p[sd]|dq)$/ { packed_conversion[name]++ }
op ~ /^v?cvtt?(s[sdi]2)s[sdi][lq]?$/ { scalar_conversion[name]++ }
END {
    for (i = 1; i <= count; i++) {
        n = order[i]
        print n, packed[n] + 0, scalar[n] + 0, packed_conversion[n] + 0, scalar_conversion[n] + 0
    }
}' "$work/all" >"$work/counts"

# A loop is vectorised when nothing of its arithmetic is scalar; with another storage precision, no conversion either.
printf '%-42s %8s %8s %12s %12s  %s\n' "loop" packed scalar "packed cvt" "scalar cvt" verdict
passed=0 failed=0
while read -r name packed scalar packed_conversion scalar_conversion; do
    case "$name" in *_e1 | *_e3 | *_e5 | *_e10) ;; *) continue ;; esac
    converts=0
    case "$name" in *_ACCESSOR_FP64_?*_e*) converts=1 ;; esac
    if [ "$packed" -gt 0 ] && [ "$scalar" -eq 0 ] && [ "$scalar_conversion" -eq 0 ] &&
        [ "$packed_conversion" -ge $converts ]; then
        verdict=vectorised passed=$((passed + 1))
    else
        verdict="NOT vectorised" failed=$((failed + 1))
    fi
    printf '%-42s %8d %8d %12d %12d  %s\n' "$name" "$packed" "$scalar" "$packed_conversion" \
        "$scalar_conversion" "$verdict"
done <"$work/counts"
# Where storage and arithmetic are the same, the accessor should leave no trace at all.
differing=0 pairs=0
name='(loop_[a-z0-9]+_)ACCESSOR_(FP(64|32)_em?[0-9]+)'
for pair in $(sed -nE "s/^$name .*/\\1PLAIN_\\2,\\1ACCESSOR_\\2/p" "$work/counts"); do
    instructions "${pair%,*}" >"$work/plain"
    instructions "${pair#*,}" >"$work/accessor"
    pairs=$((pairs + 1))
    [ -s "$work/plain" ] && cmp -s "$work/plain" "$work/accessor" || differing=$((differing + 1))
done
echo "accessor<fp64,fp64> and accessor<fp32,fp32>: $differing of $pairs loops have other instructions than the plain" \
    "one"
# Without a single loop something is wrong with the names.
[ $((passed + failed)) -gt 0 ] || failed=1
printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
