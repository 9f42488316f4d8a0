# SPDX-License-Identifier: Apache-2.0
# Outputs that are pipes, standard output, inputs, or too large for the system.

# Pipes and process substitution; the report is on stdout in the second case alone.
label="solve --output /dev/stdout | cat"
"$tool" solve spd.mtx --output /dev/stdout 2>err | cat >out
[ "${PIPESTATUS[0]}" -eq 0 ] && pass || fail "exit ${PIPESTATUS[0]}: $(head -c 200 err)"
out_has '^%%MatrixMarket matrix array'
! grep -q '^iterations' out && pass || fail "the report is on stdout too"
err_has '^iterations'
label="solve --output >(cat)"
"$tool" solve spd.mtx --output >(cat >piped) >out 2>err
[ $? -eq 0 ] && pass || fail "failed: $(head -c 200 err)"
for moment in 1 2 3 4 5 6 7 8 9 10; do
    [ -s piped ] && break
    sleep 0.1
done
grep -q '^%%MatrixMarket' piped && pass || fail "the pipe got nothing"
out_has '^iterations'

# A named pipe has its reader within a second of the start, or the command ends before the work.
mkfifo named named.npy
for output in output json history; do
    label="solve --$output named"
    cat named >piped &
    timeout 20 "$tool" solve spd.mtx --$output named >out 2>err
    [ $? -eq 0 ] && pass || fail "failed: $(head -c 200 err)"
    wait $!
    [ -s piped ] && pass || fail "the pipe got nothing"
done
label='solve --output named.npy, which is read late'
{ sleep 0.2; cat named.npy >piped; } &
timeout 20 "$tool" solve spd.mtx --output named.npy >out 2>err
[ $? -eq 0 ] && pass || fail "failed: $(head -c 200 err)"
wait $!
head -c 6 piped | grep -aq NUMPY && pass || fail "no NumPy array: $(head -c 20 piped)"
for output in output json; do
    label="solve --$output named, whose reader goes before the end"
    : <named &
    timeout 20 "$tool" solve gallery:laplace2d:200 --solver cg --$output named >out 2>err
    code=$?
    [ $code -eq 3 ] || [ $code -eq 141 ] && pass || fail "exit $code: $(head -c 200 err)"
    wait $!
done
label='solve --json named, which nobody reads'
timeout 20 "$tool" solve gallery:laplace2d:1000 --solver cg --rtol 1e-12 --json named >out 2>err
[ $? -eq 3 ] && pass || fail "not exit 3"
err_has 'named: the file cannot be written: nobody reads from the pipe'

# A regular file as standard output keeps the vector alone, as does one that is appended to.
label="solve --output /dev/stdout >file"
echo "% before" >appended
"$tool" solve spd.mtx --output /dev/stdout >plain 2>err
"$tool" solve spd.mtx --output /dev/fd/1 >>appended 2>err
head -n 1 plain | grep -q '^%%MatrixMarket' && pass || fail "$(head -n 1 plain)"
head -n 1 appended | grep -q '^% before' && [ "$(wc -l <appended)" -eq "$(($(wc -l <plain) + 1))" ] && pass ||
    fail "$(head -n 2 appended)"
for other in history json; do
    label="solve --$other /dev/stdout"
    "$tool" solve spd.mtx --$other /dev/stdout 2>err | cat >out
    [ "${PIPESTATUS[0]}" -eq 0 ] && [ -s out ] && pass || fail "nothing came"
    ! grep -q '^iterations ' out && pass || fail "the report is on stdout too"
done
expect 2 solve spd.mtx --output /dev/stdout --json -
err_has 'both be on standard output'

# Outputs are checked before the solve: a folder that is not there, a link that leads back to itself.
expect 3 solve spd.mtx --output no/such/folder.mtx
for option in output json history html; do
    expect 3 solve spd.mtx --$option /proc/self/mem
    err_has '/proc/self/mem: the file cannot be written: its folder takes no new files$'
done
ln -sf loop_b loop_a && ln -sf loop_a loop_b
expect 3 info loop_a
err_has 'Too many levels of symbolic links'
err_has 'link that leads back to itself'

# An output over an input
cp spd.mtx copy.mtx && cp spd.mtx before.mtx
"$tool" solve spd.mtx --output b.mtx >/dev/null 2>&1
cp b.mtx b.before.mtx
expect 2 solve copy.mtx --output ./copy.mtx
err_has 'would replace a file that the command reads'
expect 2 solve copy.mtx --rhs b.mtx --output b.mtx
expect 2 solve copy.mtx --initial-guess b.mtx --history b.mtx
expect 2 spmv copy.mtx --x b.mtx --output b.mtx
expect 2 timestep copy.mtx --initial b.mtx --count 2 --output b.mtx
expect 2 convert copy.mtx copy.mtx
expect 2 info copy.mtx --json copy.mtx
cmp -s copy.mtx before.mtx && cmp -s b.mtx b.before.mtx && pass || fail "an input has changed"
expect 0 convert copy.mtx copy.mtx --force
expect 0 solve copy.mtx --rhs b.mtx --output b.mtx --force
! cmp -s b.mtx b.before.mtx && pass || fail "--force has not replaced it"

# A file that may not grow: an error, and no part of it is left
for command in "generate laplace2d 60 --output large.mtx" "solve gallery:laplace2d:60 --output large.mtx" \
    "solve gallery:laplace2d:60 --json large.json"; do
    label="tessera $command with a limit of file size"
    (
        ulimit -f 1
        exec "$tool" $command >out 2>/dev/null
    )
    [ $? -eq 3 ] && pass || fail "exit $?"
    for leftover in large* .tessera-*; do
        [ ! -e "$leftover" ] && pass || fail "$leftover is left"
        rm -f "$leftover"
    done
done

# One name for two outputs, before either exists: as written, or by another path to the folder.
mkdir -p twins
for second in twins/q ./twins/q twins/../twins/q; do
    expect 2 compare spd.mtx --json twins/q --html $second
    err_has 'both write the file'
    expect 2 info spd.mtx --plot twins/q --json $second
    expect 2 solve spd.mtx --json twins/q --html $second
    absent twins/q
done
expect 0 info spd.mtx --plot /dev/null --json /dev/null
expect 0 info spd.mtx --plot twins/q --json q
