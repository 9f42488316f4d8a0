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
open('junk.petsc', 'wb').write(matrix + b'\0' * 24)
open('cut.petsc', 'wb').write((matrix + vector)[:-3])
open('half.petsc', 'wb').write(integers(1211216, 2, 2, 3, 2, 1, 0, 1, 1) + reals(2.0, 1.0, 4.0))
open('diagonal.petsc', 'wb').write(integers(1211216, 2, 2, 2, 1, 1, 0, 1) + reals(2.0, 4.0))
open('strict.petsc', 'wb').write(integers(1211216, 2, 2, 1, 1, 0, 1) + reals(2.0))
END
expect 0 solve both.petsc --rhs both.petsc --device cpu --rtol 1e-12 --output x.mtx
[ "$(tail -n 2 x.mtx | tr '\n' ' ')" = "1 2 " ] && pass || fail "x is $(tail -n 2 x.mtx | tr '\n' ' ')"
cp turned.petsc b.petsc
expect 0 info both.petsc
out_has 'PETSc binary, and more behind the matrix'
expect 0 solve both.petsc --rhs turned.petsc --device cpu
expect 3 info junk.petsc
err_has 'the file goes on, and not with another matrix or a vector'
expect 3 solve both.petsc --rhs cut.petsc --device cpu
expect 3 solve both.petsc --rhs diagonal.petsc --device cpu
err_has 'but a vector was expected'
expect 3 info half.petsc
err_has 'MATSBAIJ'
err_has 'MatConvert'
expect 0 info diagonal.petsc
expect 0 info strict.petsc

# Harwell-Boeing, and what looks a little like it
printf '%-72s%-8s\n%14d%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n(6I4)\n   1\n' title KEY 3 1 1 1 0 RSA 5 5 9 0 >a.rsa
expect 3 info a.rsa
err_has 'Harwell-Boeing file of type RSA'
err_has 'docs/howto/matrix-files.md'
printf 'one\ntwo\nthree four five six\n' >words.txt
expect 3 info words.txt
err_has "found 'one', but the banner"

# AmgX's dialect: the hint's commands split the file.
real='%%MatrixMarket matrix coordinate real general'
printf '%s\n%%%%AMGX 1 1 rhs\n3 3 7\n1 1 4\n1 2 -1\n2 1 -1\n2 2 4\n2 3 -1\n3 2 -1\n3 3 4\n2\n4\n10\n' "$real" >amgx.mtx
expect 3 info amgx.mtx
err_has "amgx.mtx:2: .*AmgX.*'rhs'"
sed -n 's/^  NNZ, ROWS from the size line: //p' err | sed 's/NNZ/7/g; s/ROWS/3/g; s/FILE/amgx.mtx/g' >split.sh
bash split.sh
expect 0 solve A.mtx --rhs b.mtx --device cpu --rtol 1e-12 --output x.npy
printf '%s\n%%%%AMGX 2 2 diagonal\n2 2 0\n' "$real" >blocks_of_amgx.mtx
expect 3 info blocks_of_amgx.mtx
err_has 'AmgX'
printf '%s\n%%%%AMGX 1 1 sorted\n1 1 1\n1 1 4\n' "$real" >plain_amgx.mtx
expect 0 info plain_amgx.mtx

# HDF5 and MATLAB: the signature decides which way out is told.
printf 'MATLAB 5.0 MAT-file, by a test' >five.mat
printf 'MATLAB 7.3 MAT-file, by a test' >seven.mat
printf '\x89HDF\r\n\x1a\n' >octave.h5
expect 3 info five.mat
err_has 'loadmat'
expect 3 info seven.mat
err_has "'-v7'"
expect 3 info octave.h5
err_has 'h5py.File'

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
