#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Command-line tests: tests/cli/run.sh TOOL. One line per failing check, then "N passed, N failed".
set -u
export LC_ALL=C
unset TESSERA_LOG

tool=$(realpath "${1:?usage: run.sh TOOL}")
[ -x "$tool" ] || { echo "$tool: not executable"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
owner=$BASHPID
trap '[ "$BASHPID" = "$owner" ] && rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0
failed=0
label=""

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    printf 'FAIL %s: %s\n' "$label" "$*"
}
# expect CODE[|CODE...] ARGS...: runs the tool; output in files out and err
expect() {
    local codes=$1
    shift
    label="tessera $*"
    "$tool" "$@" >out 2>err </dev/null
    local code=$?
    case "|$codes|" in
    *"|$code|"*) pass ;;
    *) fail "exit $code, expected $codes; stderr: $(head -n 2 err | cut -c 1-200)" ;;
    esac
    if [ "$code" -ge 2 ] && [ "$code" -le 4 ]; then
        [ ! -s out ] && pass || fail "an error wrote to stdout: $(head -c 100 out)"
        [ -s err ] && pass || fail "an error without a message"
    fi
}
out_has() { grep -Eq -- "$1" out && pass || fail "stdout lacks /$1/"; }
err_has() { grep -Eq -- "$1" err && pass || fail "stderr lacks /$1/: $(head -c 200 err)"; }
err_empty() { [ ! -s err ] && pass || fail "stderr is not empty: $(head -c 200 err)"; }
absent() { [ ! -e "$1" ] && pass || fail "$1 exists"; }
# json FILE EXPRESSION: a Python expression over the object j
json() {
    python3 "$here/check_json.py" "$1" "$2" 2>json_err && pass || fail "JSON: $2: $(tail -n 1 json_err)"
}

. "$here/inputs.sh"
for part in "$here"/parts/*.sh; do . "$part"; done

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
