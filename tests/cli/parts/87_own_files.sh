# SPDX-License-Identifier: Apache-2.0
# No file is lost and no command hangs: files of choices and checkpoints, modes of outputs, links, long names; and
# commands that a report prints, for a shell.
slow="$TESS_DATA_DIR/bcsstk06.mtx.gz --rtol 1e-8 --device cpu"

# A file of choices is the tool's own, or refused before the work.
expect 0 solve $slow --choices own.txt
head -c 15 own.txt | grep -q '^tessera-choice ' && pass || fail "no file of choices: $(head -c 60 own.txt)"
seq -f 'tessera-choice 2 %016.0f cg jacobi fp64 none' 20000 >own.txt
cp own.txt own-before.txt
expect 0 solve $slow --choices own.txt
err_has 'the file of choices own.txt is above 1 MiB: what solved this system is forgotten; remove the file'
cmp -s own.txt own-before.txt && pass || fail "a file of choices that is large has changed"
head -c 2000000 /dev/zero | tr '\0' x >notes.txt
cp spd.mtx kept.mtx
mkfifo pipe
: >empty.txt
for name in notes.txt spd.mtx kept.mtx pipe /dev/null . /proc/self/mem /proc/self/maps; do
    for option in choices checkpoint resume; do
        case $option,$name in resume,*.txt | resume,*.mtx | resume,/proc*) continue ;; esac
        label="solve --$option $name"
        timeout 10 "$tool" solve spd.mtx --device cpu --$option $name >out 2>err </dev/null
        code=$?
        [ $code -eq 2 ] && pass || fail "exit $code: $(head -c 200 err)"
        err_has "--$option .*(the name is that of|would replace a file)"
    done
done
[ "$(stat -c %s notes.txt)" -eq 2000000 ] && cmp -s spd.mtx kept.mtx && pass || fail "a file has changed"
expect 0 solve spd.mtx --device cpu --choices empty.txt
expect 1 solve gallery:laplace2d:60 --solver cg --max-iterations 3 --device cpu --checkpoint notes.txt --force
expect 1 solve gallery:laplace2d:60 --solver cg --max-iterations 3 --device cpu --checkpoint notes.txt
expect 2 timestep spd.mtx --checkpoint kept.mtx
expect 2 timestep spd.mtx --resume pipe
expect 2 solve spd.mtx --json notes.txt --output ./notes.txt
err_has 'would both write'

# Files that a model problem is made of are inputs too.
expect 2 generate replicate kept.mtx 2 --output kept.mtx
expect 2 solve gallery:replicate:kept.mtx:2 --output kept.mtx
err_has 'would replace a file that the command reads'
cmp -s spd.mtx kept.mtx && pass || fail "kept.mtx has changed"

# An output keeps the permissions of what it replaces; a link that leads nowhere stays.
for option in output json html; do
    : >mode.txt
    chmod 640 mode.txt
    expect 0 solve spd.mtx --device cpu --$option mode.txt
    [ "$(stat -c %a mode.txt)" = 640 ] && pass || fail "the mode is $(stat -c %a mode.txt)"
    ln -sf nowhere.txt dangling
    expect 3 solve spd.mtx --device cpu --$option dangling
    err_has 'link to a file that is not there'
    [ -L dangling ] && pass || fail "the link is gone"
done
long=$(printf 'n%.0s' {1..250}).json
expect 0 solve spd.mtx --device cpu --json $long --output "${long/json/npyy}"
[ -s $long ] && pass || fail "a name of 255 bytes got nothing"
expect 3 solve spd.mtx --device cpu --json n$long
leftover=$(find . -name '.tessera-*')
[ -z "$leftover" ] && pass || fail "$leftover is left"

# `by hand` solves the system, as a shell reads it.
run_by_hand() { # ARGS...: the solve, then its line
    expect 0 solve "$@" --device cpu --choices none
    hand=$(sed -n 's/^by hand  *//p' out)
    label="by hand: $hand"
    [ -n "$hand" ] && pass || fail "there is none"
    bash -c "tessera() { \"$tool\" \"\$@\"; }; $hand --device cpu" >out 2>err </dev/null
    [ $? -eq 0 ] && pass || fail "$(grep -h '^result' out; head -c 200 err)"
}
for name in 1138_bus bcsstk06 nos3 plskz362 west0067; do
    run_by_hand "$TESS_DATA_DIR/$name.mtx.gz" --rtol 1e-9 --rhs random:4
    run_by_hand "$TESS_DATA_DIR/$name.mtx.gz" --rtol 1.2345678e-7 --rhs a-times-ramp
done
odd=$'od d$(touch ran)\'q"<\x1b[31m\n'
mkdir -p -- "$odd"
cp spd.mtx "$odd/-a.mtx"
cp b3.mtx "$odd/b.mtx"
run_by_hand "$odd/-a.mtx" --rhs "$odd/b.mtx" --max-iterations 500 --initial-guess "$odd/b.mtx"
[ ! -e ran ] && pass || fail "a name was run"
expect 0 solve "$odd/-a.mtx" --device cpu --json odd.json --html odd.html
! grep -q $'\x1b' out odd.html && pass || fail "a control character is in the report"
json odd.json "'\\x1b' in j['matrix']"
expect 3 solve "$odd/none.mtx"
! grep -q $'\x1b' err && pass || fail "a control character is in an error"
err_has '\\x1b\[31m\\n/none.mtx'
expect 2 solve spd.mtx --rtol $'\x1b[31m'
! grep -q $'\x1b' err && pass || fail "a control character is in an error of usage"
