# SPDX-License-Identifier: Apache-2.0
# Files of NumPy, SciPy and PETSc, standard input and output, several right-hand sides.
mkdir files
printf '%s\n3 3\n6\n11\n18\n1\n0\n0\n0\n2e300\n-1\n' "$array" >files/b.mtx
printf '%s\n3 2\n1\n2\n3\n4\n5\n6\n' "$array" >files/x0.mtx

# Round trips: the bytes at the end are those of the beginning.
expect 0 convert unsym.mtx files/a.mtx
kinds="petsc tess"
if "$tool" convert unsym.mtx files/a.npz 2>err >/dev/null; then kinds="$kinds npz"; else err_has 'libzip-dev'; fi
for kind in $kinds; do
    expect 0 convert unsym.mtx "files/a.$kind"
    expect 0 convert "files/a.$kind" files/again.mtx
    cmp -s files/a.mtx files/again.mtx && pass || fail "a.$kind does not come back as it went"
    expect 0 info "files/a.$kind" --json info.json
    json info.json 'j["nnz"] == 7 and j["file"]["kind"] != "Matrix Market"'
done
for kind in npy petsc; do
    expect 0 convert files/b.mtx "files/b.$kind" --to "$kind"
done
expect 0 convert files/b.npy files/b.mtx
expect 0 convert files/b.mtx files/b_again.npy
cmp -s files/b.npy files/b_again.npy && pass || fail 'b.npy does not come back as it went'
head -c 6 files/b.npy | grep -q NUMPY && pass || fail 'b.npy has another magic string'
expect 0 convert files/b.npy files/vectors.petsc
expect 0 convert files/vectors.petsc files/b_again.npy
cmp -s files/b.npy files/b_again.npy && pass || fail 'vectors of PETSc do not come back as they went'

# The content decides, not the name.
cp files/a.petsc files/a.dat
expect 0 solve files/a.dat --json files.json
json files.json 'j["verified"]'

# x as the name of the file says: an .npy of one dimension.
expect 0 solve unsym.mtx --rhs b3.mtx --output files/x.npy
head -c 128 files/x.npy | grep -q "'shape': (3,)" && pass || fail 'x.npy is no vector of NumPy'
expect 0 solve unsym.mtx --rhs b3.mtx --initial-guess files/x.npy --json files.json
json files.json 'j["iterations"] == 0'

# Several right-hand sides: one set-up, x with as many columns, the worst exit code.
expect 0 solve unsym.mtx --rhs files/b.npy --output files/x.npy --rtol 1e-12 --solver gmres --json files.json
out_has '^right-hand sides +3 of 3 verified'
json files.json '[c["column"] for c in j["columns"]] == [1, 2, 3] and all(c["verified"] for c in j["columns"])'
json files.json 'j["relative_residual"] == max(c["relative_residual"] for c in j["columns"])'
json files.json 'j["verified_columns"] == 3 and j["columns_iterations"] == sum(c["iterations"] for c in j["columns"])'
json files.json 'all(c["row_residual"]["bound"] >= 0 and c["residual_bound"] >= 0 for c in j["columns"])'
expect 0 solve unsym.mtx --rhs files/b.npy --initial-guess files/x.npy --rtol 1e-10 --solver gmres --json files.json
json files.json 'j["columns_iterations"] == 0'
expect 0 convert files/x.npy files/x.mtx
sed -n 2p files/x.mtx | grep -qx '3 3' && pass || fail 'x has not three columns'
for column in 1 2 3; do # each as if it were alone
    { printf '%s\n3 1\n' "$array"; sed -n "$((3 * column)),$((3 * column + 2))p" files/b.mtx; } >files/one.mtx
    expect 0 solve unsym.mtx --rhs files/one.mtx --output files/one_x.mtx --rtol 1e-12 --solver gmres
    sed -n "$((3 * column)),$((3 * column + 2))p" files/x.mtx >files/expected
    tail -n 3 files/one_x.mtx | cmp -s - files/expected && pass || fail "column $column of x differs from its own solve"
done
expect 1 solve unsym.mtx --rhs files/b.npy --solver cg --guard report --max-iterations 0 --history files/h.csv \
    --json files.json
json files.json 'j["exit_code"] == 1 and j["verified_columns"] == 0 and j["worst_column"] in (1, 2, 3)'
expect 0 solve unsym.mtx --rhs b3.mtx --json files.json
json files.json 'j["columns"] is None and "worst_column" not in j'
expect 3 solve unsym.mtx --rhs files/b.npy --initial-guess files/x0.mtx
err_has 'has 2 columns, but there are 3 right-hand sides'
expect 3 solve two.mtx --rhs files/b.npy
err_has 'has 3 rows and 3 columns, but the matrix needs 2 rows'
expect 3 spmv unsym.mtx --x files/b.npy
err_has 'array of 3 by 3, but a vector was expected'

# - is standard input and output.
label='tessera solve - ... --output -'
"$tool" solve - --rhs files/b.npy --output - --rtol 1e-12 --solver gmres <unsym.mtx >out 2>err
[ $? -eq 0 ] && pass || fail "$(head -n 1 err)"
cmp -s out files/x.mtx && pass || fail 'standard output is not x'
err_has '^result +converged'
"$tool" convert unsym.mtx - --to petsc 2>err | "$tool" convert - - 2>>err >out
cmp -s out files/a.mtx && pass || fail "through two pipes: $(head -n 1 err)"
"$tool" solve unsym.mtx --rhs - <files/b.npy >out 2>err && out_has '3 of 3 verified' || fail "$(head -n 1 err)"
expect 2 solve - --rhs -
err_has 'standard input can be read once'
expect 2 solve unsym.mtx --output - --json -
expect 2 convert unsym.mtx - --json -
expect 2 convert unsym.mtx files/a.doc
err_has "must end in .mtx, .mtx.gz, .tess, .npz, .npy, .petsc, .mat, .txt or .csv"
expect 2 convert unsym.mtx files/a.mtx --to npz
expect 2 convert unsym.mtx - --to npx
err_has "did you mean 'npz'|did you mean 'npy'"

# Wrong files.
expect 3 solve unsym.mtx --rhs files/a.petsc
err_has 'the file has no vector'
head -c 100 files/b.npy >files/short.npy
expect 3 solve unsym.mtx --rhs files/short.npy
err_has 'at byte 10 of 100: the header'
sed 's/<f8/|O8/' files/b.npy >files/object.npy
expect 3 solve unsym.mtx --rhs files/object.npy
err_has 'pickled Python objects'
head -c 50 files/a.petsc >files/short.petsc
expect 3 info files/short.petsc
err_has 'the file ends before'
printf 'MATLAB 5.0 MAT-file, Platform: GLNXA64, Created on: now' >files/a.mat
expect 3 info files/a.mat
err_has 'the head of 128 bytes is incomplete'
expect 3 solve unsym.mtx --rhs gone.npy
err_has 'takes a file or one of the words'
