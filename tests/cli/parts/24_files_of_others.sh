# SPDX-License-Identifier: Apache-2.0
# Small files that other programs wrote (scripts/files_of_others.sh): M, M (1 + 2 i), S, and b = 1, 2, 3, 4.
others=$here/../files/others
cat >M.mtx <<'END'
%%MatrixMarket matrix coordinate real general
4 4 8
1 1 4
1 2 -1
1 4 0.5
2 2 3
3 1 2
3 3 5
4 3 -1.5
4 4 6
END
sed -e 's/real/complex/' -e '3,$s/\([0-9.-]*\)$/\1 &/' M.mtx | awk 'NR > 2 { $4 = 2 * $3 } 1' >C.mtx
python3 - <<'END'
with open('S.mtx', 'w') as f:
    f.write('%%MatrixMarket matrix coordinate real general\n4 4 16\n')
    for k in range(16):
        i, j = k // 4, k % 4
        f.write('%d %d %r\n' % (i + 1, j + 1, 8 * (i == j) + 1 / 2 ** (i + j)))
END
for letter in M C S; do
    expect 0 convert $letter.mtx $letter.want.mtx
done
for file in "$others"/[MCS].*; do
    name=$(basename "$file")
    case $name in *.b.00000 | *.00001) continue ;; esac
    # without libzip or libarchive a build says so, and what would help
    if ! "$tool" info "$file" >out 2>err && grep -q 'has no libzip\|has no libarchive' err; then
        err_has 'libzip-dev|libarchive-dev'
        continue
    fi
    want=${name%%.*}.want.mtx
    expect 0 convert "$file" got.tess # a matrix, also where vectors stand behind it
    expect 0 convert got.tess got.mtx
    cmp -s "$want" got.mtx && pass || fail "$name is read wrong: $(diff "$want" got.mtx | head -n 3 | tr '\n' ' ')"
done

# b from the same file, as the program wrote it beside the matrix
expect 0 solve M.mtx --rhs "$others/b.numpy.txt" --rtol 1e-13 --solver gmres --output x.want.npy
for name in M.aij.petsc M.octave6.mat M.octave7.mat M.scipy5.mat M.scipy5z.mat M.struct.mat M.octave.h5.gz \
    M.octave4.mat M.scipy4.mat M.octave.txt M.octave.struct.txt.gz \
    M.h5py.h5.gz M.latest.h5.gz M.matio73.mat.gz M.tar.gz M.zip; do
    if ! "$tool" info "$others/$name" >out 2>err && grep -q 'has no lib' err; then continue; fi
    expect 0 solve M.mtx --rhs "$others/$name" --rtol 1e-13 --solver gmres --output x.npy
    cmp -s x.npy x.want.npy && pass || fail "b of $name is read wrong"
done
expect 0 solve "$others/M.hypre2.00000" --rhs "$others/M.hypre2.b.00000" --rtol 1e-13 --solver gmres --output x.npy
cmp -s x.npy x.want.npy && pass || fail 'b of hypre is read wrong'

# x as the name says
for end in mat txt csv petsc npy mtx; do
    expect 0 solve M.mtx --rhs "$others/b.numpy.txt" --rtol 1e-13 --solver gmres --output x.$end
    expect 0 convert x.$end again.npy
    cmp -s again.npy x.want.npy && pass || fail "x.$end is not x"
done

# a part by its name
expect 0 info "$others/M.scipy5z.mat:other"
out_has '2 x 2'
expect 3 info "$others/M.scipy5z.mat:none"
err_has "no variable of numbers with the name 'none': A, b, other"
expect 0 info "$others/M.scipy4.mat:i"
out_has '2 x 2'
expect 3 info "$others/M.octave.txt:none"
err_has "no variable of numbers with the name 'none': A, b"
expect 3 info "$others/M.aij.petsc:A"
err_has 'has no part'

# what is not read is named, with a way out
printf '\200\4\225' >A.pkl
expect 3 info A.pkl
err_has 'pickle of Python.*run any code'
printf 'PAR1\25\4' >A.parquet
expect 3 info A.parquet
err_has 'Parquet'
printf 'Octave-1-L' >A.bin
expect 3 info A.bin
err_has 'binary file of Octave'
printf '#  HashMatrix Matrix (COO) 0x1\n#    n m nnz half fortran state\n2 2 2 0 0 0 0\n0 0 4\n1 1 5\n' >freefem.txt
expect 3 info freefem.txt
err_has 'FreeFEM'
sed -n 's/^  awk/awk/; s/A.txt > A.ijv/freefem.txt >A.ijv/p' err >hint.sh # the command that the hint has
bash hint.sh
expect 0 info A.ijv
out_has 'triplets from 0; 2 entries'
printf '# Sparse Matrix (Morse) 0x1\n# n m (is symmetic) nnz\n2 2 1 3\n 1 1 4\n 2 1 -1\n 2 2 5\n' >freefem.txt
expect 3 info freefem.txt
bash hint.sh
expect 0 info A.ijv
out_has 'triplets from 1; 4 entries'
printf '\0\0\0\0\1\2\3\4 binary' >A.bin
expect 3 info A.bin
err_has 'of no kind that is known here'
