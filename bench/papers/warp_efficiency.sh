#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Warp execution efficiency (Table III of Tezcan et al. 2022): of the 32 threads of a warp, how many take part in an
# instruction on average. Profiles one product of each kernel with Nsight Compute; matrices should have more than 32
# nonzeros per row.
# Usage: warp_efficiency.sh BENCH_PAPERS [OPTION..]   (options of the study split: --set, --matrix, --policy, ...)
# KERNELS: contestants of the study, with spaces. Exit code 77: no Nsight Compute here, or it may not read the counters.
set -euo pipefail
ours='csr-fp64 split-entry split-row split-entry-shadow split-row-shadow'
kernels=${KERNELS:-$ours paper-entry-shadow paper-row-shadow}
# those that multiply
products='regex:^(rows_kernel|nonzeros_kernel|segment_kernel|slice_kernel|parts_kernel|vector_kernel)$'
executed=smsp__inst_executed.sum
threads=smsp__thread_inst_executed.sum

skip()
{
    echo "SKIPPED: $1"
    exit 77
}

[ $# -ge 1 ] || { sed -n '3,8s/^# //p' "$0"; exit 2; }
program=$1
shift
[ $# -gt 0 ] || set -- --matrix gallery:elasticity3d:32 --matrix gallery:elasticity3d:48
[ -x "$program" ] || { echo "no program $program" >&2; exit 2; }
command -v ncu >/dev/null || skip "needs ncu (Nsight Compute)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One matrix at a time, so that all launches of a profile belong to it.
list_matrices()
{
    "$program" --study split "$@" --list | cut -f 2
}

# What is left of the options when those that choose matrices are taken out.
others=()
all=("$@")
for ((i = 0; i < ${#all[@]}; i++)); do
    case ${all[i]} in
    --set | --matrix) i=$((i + 1)) ;;
    --set=* | --matrix=*) ;;
    *) others+=("${all[i]}") ;;
    esac
done

# Both counters, summed over the launches of a product: 100 * thread instructions / (32 * instructions).
efficiency()
{
    awk -v executed="$executed" -v threads="$threads" '
        function number(text) { gsub(/[",]/, "", text); return text + 0 }
        index($0, "\"" executed "\"") { n = split($0, field, "\",\""); i += number(field[n]) }
        index($0, "\"" threads "\"") { n = split($0, field, "\",\""); t += number(field[n]) }
        END { if (i > 0) printf "%.2f", 100 * t / (32 * i); else print "-" }' "$log"
}

printf '%-44s' matrix
for kernel in $kernels; do printf ' %20s' "$kernel"; done
printf '\n'
list_matrices "$@" | while read -r matrix; do
    printf '%-44s' "$(basename "$matrix")"
    for kernel in $kernels; do
        if ! ncu --csv --print-units base --kernel-name-base function --kernel-name "$products" \
            --metrics "$executed,$threads" "$program" --study split --quick "${others[@]}" --matrix "$matrix" \
            --product "$kernel" >"$log" 2>&1; then
            grep -q ERR_NVGPUCTRPERM "$log" && skip "no permission for the device's performance counters"
            tail -n 3 "$log" >&2
            exit 1
        fi
        printf ' %19s%%' "$(efficiency)"
    done
    printf '\n'
done
