# SPDX-License-Identifier: Apache-2.0
# Bad files: exit 3, a message with the file, and with the line where there is one.
for command in info spmv solve compare; do
    expect 3 $command missing.mtx
    err_has 'missing.mtx'
    expect 3 $command directory.mtx
    err_has 'directory.mtx'
    expect 3 $command empty.mtx
    err_has 'empty.mtx'
done
expect 3 convert missing.mtx copy.mtx
absent copy.mtx
expect 3 info text.mtx
err_has 'text.mtx:1'
expect 3 info bad_token.mtx
err_has 'bad_token.mtx:4: .*two'
expect 3 info bad_index.mtx
err_has 'bad_index.mtx:4'
expect 3 info short.mtx
err_has 'short.mtx'
expect 0 info complex.mtx
expect 3 info symmetric_rectangle.mtx
err_has 'symmetric_rectangle.mtx:2'
expect 3 info huge_nnz.mtx
err_has 'huge_nnz.mtx:2'
expect 3 info huge_rows.mtx
err_has 'huge_rows.mtx'
head -c 20 spd.mtx.gz >cut.mtx.gz
expect 3 info cut.mtx.gz
err_has 'cut.mtx.gz'

expect 3 solve wide.mtx --solver cg
err_has 'square'
expect 3 solve spd.mtx --rhs b2.mtx
err_has 'b2.mtx: the file for --rhs has 2 values, but the matrix needs 3'
expect 3 solve spd.mtx --rhs missing.mtx
err_has 'missing.mtx'
expect 3 solve spd.mtx --initial-guess b2.mtx
err_has 'initial-guess'
expect 3 spmv wide.mtx --x b2.mtx
err_has 'needs 3'

expect 2 solve gallery:laplce2d:8
err_has 'laplace2d'
expect 2 solve gallery:laplace2d
expect 2 solve gallery:laplace2d:zero
expect 2 solve gallery:
expect 2 info gallery:laplace2d:-4

# where results cannot go: refused before the work starts
expect 3 solve spd.mtx --json directory.mtx
err_has 'directory.mtx: the file cannot be written'
for option in json history output; do
    expect 3 solve spd.mtx --$option nowhere/file.mtx
    err_has 'nowhere/file.mtx'
done
expect 3 info spd.mtx --json /proc/nowhere.json
expect 3 spmv spd.mtx --output nowhere/y.mtx
expect 3 generate laplace2d 4 --output nowhere/a.mtx
expect 3 convert spd.mtx nowhere/a.mtx
expect 2 solve spd.mtx --json same --history same
err_has 'two outputs'
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 3 solve spd.mtx --json locked/a.json
    err_has 'locked/a.json: cannot be written'
fi
if [ -c /dev/full ]; then
    label='info to a full device'
    "$tool" info spd.mtx >/dev/full 2>err
    [ $? -eq 3 ] && pass || fail 'a full standard output is not noticed'
    label="info --json to a full device"
    "$tool" info spd.mtx --json /dev/full >out 2>err
    [ $? -eq 3 ] && pass || fail "it is not noticed"
    err_has 'cannot be written'
fi
