# SPDX-License-Identifier: Apache-2.0
# Files of other programs: read, or named with a way to convert them.
printf '%%%%MatrixMarket matrix coordinate unsigned-integer general\n%%\n2 2 3\n1 1 4\n2 1 1\n2 2 8\n' >unsigned.mtx
expect 0 info unsigned.mtx
out_has 'integer, general; 3 entries'

# PETSc: a matrix and a vector in one file, in both orders; the upper triangle of a symmetric matrix
python3 - <<'END'
import struct
def integers(*v): return struct.pack(f'>{len(v)}i', *v)
def reals(*v): return struct.pack(f'>{len(v)}d', *v)
matrix = integers(1211216, 2, 2, 3, 1, 2, 0, 0, 1) + reals(2.0, 1.0, 4.0)
vector = integers(1211214, 2) + reals(2.0, 9.0)
open('both.petsc', 'wb').write(matrix + vector)
open('turned.petsc', 'wb').write(vector + matrix)
open('junk.petsc', 'wb').write(matrix + b'\0' * 20)
open('cut.petsc', 'wb').write((matrix + vector)[:-3])
open('half.petsc', 'wb').write(integers(1211216, 2, 2, 3, 2, 1, 0, 1, 1) + reals(2.0, 1.0, 4.0))
open('diagonal.petsc', 'wb').write(integers(1211216, 2, 2, 2, 1, 1, 0, 1) + reals(2.0, 4.0))
open('strict.petsc', 'wb').write(integers(1211216, 2, 2, 1, 1, 0, 1) + reals(2.0))
END
expect 0 solve both.petsc --rhs both.petsc --device cpu --rtol 1e-12 --output x.mtx
[ "$(tail -n 2 x.mtx | tr '\n' ' ')" = "1 2 " ] && pass || fail "x is $(tail -n 2 x.mtx | tr '\n' ' ')"
cp turned.petsc b.petsc
expect 0 info both.petsc
out_has 'PETSc binary, and more behind'
expect 0 solve both.petsc --rhs turned.petsc --device cpu
expect 3 info junk.petsc
err_has 'the class is 0, but that of a matrix'
expect 3 solve both.petsc --rhs cut.petsc --device cpu
expect 3 solve both.petsc --rhs diagonal.petsc --device cpu
err_has 'the file has no vector'
expect 3 info half.petsc
err_has 'MATSBAIJ'
err_has 'A.sbaij.petsc'
cp half.petsc half.sbaij.petsc
expect 0 info half.sbaij.petsc
out_has 'SBAIJ, and more behind|SBAIJ; 4 entries'
cp half.petsc half.aij.petsc
expect 0 info half.aij.petsc
out_has 'PETSc binary; 3 entries'
expect 0 info diagonal.petsc
expect 0 info strict.petsc

# Harwell-Boeing: the lower triangle of a symmetric matrix, two right-hand sides, numbers that touch
hb_head() { printf '%-72s%-8s\n%14d%14d%14d%14d%14d\n' title KEY 7 1 1 2 2; }
{
    hb_head
    printf '%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s%-20s\n' RSA 3 3 5 0 '(6I4)' '(6I4)' '(3E8.1)' '(1P,4D9.2)'
    printf '%-14s%14d%14d\n' F 2 0
    printf '   1   3   5   6\n   1   2   2   3   3\n 4.0E+00-1.0E+00 4.0E+00\n-1.0E+00 4.0E+00\n'
    printf ' 2.00D+00 4.00D+00 1.00D+01 3.00D+00\n 2.00D+00 3.00D+00\n'
} >a.rsa
expect 0 info a.rsa
out_has 'Harwell-Boeing, RSA; 7 entries'
expect 0 solve a.rsa --rhs a.rsa --device cpu --rtol 1e-12 --output x.csv
[ "$(awk -F, '{ printf "%.4f %.4f ", $1, $2 }' x.csv)" = "1.0000 1.0000 2.0000 1.0000 3.0000 1.0000 " ] &&
    pass || fail "x of a.rsa is $(tr '\n' ' ' <x.csv)"
sed 's/   1   2   2   3   3/   1   2   2   3   4/' a.rsa >outside.rsa
expect 3 info outside.rsa
err_has 'outside.rsa:7: the index of a row is 4, outside of 1 to 3'
sed 's/-1.0E+00 4.0E+00$/-1.0E+00 what/' a.rsa >word.rsa
expect 3 info word.rsa
err_has "word.rsa:8: found 'what', but a value was expected|word.rsa:9: found 'what'"
head -n 8 a.rsa >cut.rsa
expect 3 info cut.rsa
err_has 'the file ends, but a value was expected'
printf 'one\ntwo\nthree four five six\n' >words.txt
expect 3 info words.txt
err_has "found 'one', but the banner"

# AmgX's dialect: right-hand side, counts from 0, the diagonal's blocks behind the entries
real='%%MatrixMarket matrix coordinate real general'
printf '%s\n%%%%AMGX 1 1 rhs\n3 3 7\n1 1 4\n1 2 -1\n2 1 -1\n2 2 4\n2 3 -1\n3 2 -1\n3 3 4\n2\n4\n10\n' "$real" >amgx.mtx
expect 0 info amgx.mtx
out_has 'AmgX, right-hand side; 7 entries'
expect 0 solve amgx.mtx --rhs amgx.mtx --device cpu --rtol 1e-12 --output x.csv
[ "$(awk '{ printf "%.6f ", $1 }' x.csv)" = "1.000000 2.000000 3.000000 " ] && pass || fail "x of amgx.mtx"
sed 's/^2$/3\n2/' amgx.mtx >counted.mtx # as some programs write it: the length first
expect 0 solve counted.mtx --rhs counted.mtx --device cpu --rtol 1e-12 --output again.csv
cmp -s x.csv again.csv && pass || fail 'b behind its length is read wrong'
printf '%s\n%%%%NVAMG 2 base0 diagonal\n4 4 4\n0 2 1\n0 3 0\n1 2 0\n1 3 1\n4 1 1 4\n5\n2 2 5\n' "$real" >blocks.mtx
expect 0 convert blocks.mtx plain.mtx
[ "$(sed -n 2p plain.mtx)" = '4 4 12' ] && grep -qx '4 3 2' plain.mtx && grep -qx '1 3 1' plain.mtx && pass ||
    fail "blocks.mtx is $(tr '\n' ';' <plain.mtx)"
sed 's/diagonal/sorts/' blocks.mtx >wrong.mtx
expect 3 info wrong.mtx
err_has "wrong.mtx:2: found 'sorts'"
head -n 9 blocks.mtx | sed '3s/4 4 4/6 6 4/; 4s/2/9/' >outside.mtx
expect 3 info outside.mtx
err_has 'outside.mtx:4: the column index .9. is outside the range 0 to 5'
expect 3 solve amgx.mtx --rhs blocks.mtx --device cpu
err_has 'has no right-hand side'

# HDF5 and MATLAB that have no more than a beginning
printf 'MATLAB 5.0 MAT-file, by a test' >five.mat
printf 'MATLAB 7.3 MAT-file, by a test' >seven.mat
printf '\x89HDF\r\n\x1a\n' >octave.h5
expect 3 info five.mat
err_has 'the head of 128 bytes is incomplete'
expect 3 info seven.mat
err_has 'its superblock is not there'
expect 3 info octave.h5
err_has 'the HDF5 file cannot be read'

# PyData's sparse: one table of indices; the fill value must be 0.
python3 - <<'END'
import struct, zipfile
def npy(kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head = head.ljust((64 - 10 % 64) - 1 + 64 * (len(head) // 64)) + '\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + data
def save(name, coords, fill=0.0, named=True, rows=2):
    with zipfile.ZipFile(name, 'w') as z:
        z.writestr('coords.npy', npy('<i8', '(%d, 3)' % rows, struct.pack('<%dq' % len(coords), *coords)))
        z.writestr('data.npy', npy('<f8', '(3,)', struct.pack('<3d', 2.0, 1.0, 4.0)))
        z.writestr('shape.npy', npy('<i8', '(2,)', struct.pack('<2q', 2, 2)))
        z.writestr('fill_value.npy', npy('<f8', '()', struct.pack('<d', fill)))
        if named:
            z.writestr('format.npy', npy('<U3', '()', 'coo'.encode('utf-32-le')))
save('coords.npz', [0, 1, 1, 0, 0, 1])
save('old.npz', [0, 1, 1, 0, 0, 1], named=False)
save('filled.npz', [0, 1, 1, 0, 0, 1], fill=1.0)
save('outside.npz', [0, 1, 1, 0, 0, 2])
save('three.npz', [0, 1, 1, 0, 0, 1, 0, 0, 0], rows=3)
END
if "$tool" info "$here/../files/coo.npz" >/dev/null 2>&1; then
    for file in coords.npz old.npz; do
        expect 0 solve $file --rhs both.petsc --device cpu --rtol 1e-12 --output x.mtx
        [ "$(tail -n 2 x.mtx | tr '\n' ' ')" = "1 2 " ] && pass || fail "x is $(tail -n 2 x.mtx | tr '\n' ' ')"
    done
    expect 3 info filled.npz
    err_has 'fill value'
    expect 3 info outside.npz
    err_has 'index 2 is out of range'
    expect 3 info three.npz
    err_has 'values were expected|values; '
fi
