#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Command-line tests: tests/cli/run.sh TOOL [PART...], by default all of parts/. One line per failing check, then
# "N passed, N failed".
set -u
export LC_ALL=C
unset TESSERA_LOG

tool=$(realpath "${1:?usage: run.sh TOOL [PART...]}")
shift
[ -x "$tool" ] || { echo "$tool: not executable"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
export XDG_CACHE_HOME=$work/cache # the file of choices
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
# json FILE EXPRESSION: a Python expression over the object j. One Python answers all: its start takes longer than a
# solve.
coproc JUDGE { exec python3 "$here/check_json.py"; }
trap '' PIPE
json() {
    local answer="no answer"
    printf '%s\n%s\n' "$1" "${2//$'\n'/ }" >&"${JUDGE[1]}"
    read -r answer <&"${JUDGE[0]}"
    [ "$answer" = true ] && pass || fail "JSON: $2: $answer"
}

. "$here/inputs.sh"
if [ $# -eq 0 ]; then
    set -- "$here"/parts/*.sh
    set -- "${@##*/}"
fi
for part in "${@%.sh}"; do . "$here/parts/$part.sh"; done

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
