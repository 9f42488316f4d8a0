#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hit rates of the second-level cache in products with x in FP64 and in FP32, beside the model of Loe et al. 2021,
# section V-D, which lets x miss for every nonzero in FP64 and for none but the first use in FP32. Profiles products of
# GMRES with Nsight Compute: bytes from memory over those that the model counts.
# Usage: l2_hit_rates.sh TESSERA [MATRIX..]   (gallery:NAME or a file)
# Exit code 77: no Nsight Compute here, or it may not read the counters.
set -euo pipefail
hits=lts__t_sector_hit_rate.pct
memory=dram__bytes_read.sum
time=gpu__time_duration.sum

skip()
{
    echo "SKIPPED: $1"
    exit 77
}

[ $# -ge 1 ] || { sed -n '3,7s/^# //p' "$0"; exit 2; }
program=$1
shift
[ $# -gt 0 ] || set -- gallery:bentpipe2d:1500 gallery:uniflow2d:2500 gallery:laplace3d:150
[ -x "$program" ] || { echo "no program $program" >&2; exit 2; }
command -v ncu >/dev/null || skip "needs ncu (Nsight Compute)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The metric's value for the last product in the profile.
value_of()
{
    awk -v metric="$1" 'index($0, "\"" metric "\"") { n = split($0, field, "\",\""); v = field[n]; gsub(/[",]/, "", v) }
        END { print v == "" ? "-" : v }' "$log"
}

printf '%-28s %6s %12s %14s %14s\n' matrix vectors "L2 hits %" "from memory B" "time ns"
for matrix in "$@"; do
    for inner in fp64 fp32; do
        if ! ncu --csv --print-units base --kernel-name-base function \
            --kernel-name 'regex:^(rows_kernel|nonzeros_kernel)$' --launch-skip 4 --launch-count 4 \
            --metrics "$hits,$memory,$time" "$program" solve --device cuda --solver gmres --engine plain \
            --inner-precision "$inner" --max-iterations 12 "$matrix" >"$log" 2>&1; then
            grep -q ERR_NVGPUCTRPERM "$log" && skip "no permission for the device's performance counters"
            grep -q "$hits" "$log" || { tail -n 3 "$log" >&2; exit 1; } # not converged in 12 iterations is no failure
        fi
        printf '%-28s %6s %12s %14s %14s\n' "$matrix" "$inner" "$(value_of $hits)" "$(value_of $memory)" \
            "$(value_of $time)"
    done
done
