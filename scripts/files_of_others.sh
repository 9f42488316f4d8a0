#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# files_of_others.sh [FOLDER]: other programs write a matrix, its right-hand side and relatives; Tessera reads each
# file, and what it reads is compared. With FOLDER the files are kept there: tests/files/others came so. Not in CI: it
# installs PyPI's packages of the versions below in a temporary folder, and wants Debian 12's octave, libmatio-dev,
# libpetsc-real-dev, libpetsc-complex-dev, libhypre-dev, libsuitesparse-dev, zip and zstd. What is not there is said.
# TESSERA: the tool (build/release/tessera).
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
tool=${TESSERA:-$here/build/release/tessera}
packages=(numpy==2.4.6 scipy==1.17.1 sparse==0.19.3 h5py==3.16.0)
keep=${1:-}
[ -n "$keep" ] && mkdir -p "$keep" && keep=$(cd "$keep" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C
mkdir out && cd out || exit 1

python3 -m venv ../v && ../v/bin/pip install -q --disable-pip-version-check "${packages[@]}" || exit 1
versions="${packages[*]}"

# ---- Python ----
../v/bin/python - <<'END'
import h5py, numpy as np, scipy.io, scipy.sparse as sp, sparse
M = np.array([[4, -1, 0, 0.5], [0, 3, 0, 0], [2, 0, 5, 0], [0, 0, -1.5, 6]])
C, b = M * (1 + 2j), np.array([1.0, 2, 3, 4])
A = sp.csc_array(M)
scipy.io.mmwrite("M.scipy.mtx", A, precision=17)
scipy.io.mmwrite("C.scipy.mtx", sp.coo_array(C), precision=17)
scipy.io.mmwrite("U.scipy.mtx", np.array([[1, 2], [3, 4]], dtype="u4"))
sp.save_npz("M.scipy.npz", A)
sp.save_npz("C.scipy.npz", sp.csr_array(C))
np.save("C.numpy.npy", C.astype("c8"))
np.savetxt("b.numpy.txt", b)
sparse.save_npz("M.pydata.npz", sparse.COO.from_numpy(M))
sparse.save_npz("C.pydata.npz", sparse.COO.from_numpy(C))
sparse.save_npz("M.gcxs.npz", sparse.GCXS.from_numpy(M, compressed_axes=(1,)))
scipy.io.savemat("M.scipy5.mat", {"A": A, "b": b})
scipy.io.savemat("M.scipy5z.mat", {"A": A, "b": b, "other": np.eye(2)}, do_compression=True)
scipy.io.savemat("M.struct.mat", {"Problem": {"A": A, "b": b.reshape(-1, 1), "name": "M"}})
scipy.io.savemat("C.scipy5.mat", {"A": sp.csc_array(C), "b": b * 1j})
scipy.io.savemat("M.scipy4.mat", {"A": A, "b": b, "note": "text", "i": np.eye(2, dtype="i2")}, format="4")
scipy.io.savemat("C.scipy4.mat", {"A": C, "b": b * 1j}, format="4")
scipy.io.hb_write("M.scipy.rua", A)
with h5py.File("M.h5py.h5", "w") as f:
    f.create_dataset("A", data=M, chunks=(3, 2), compression="gzip", shuffle=True, fletcher32=True)
    f["b"] = b.astype(">f4")
with h5py.File("M.latest.h5", "w", libver="latest") as f:
    f["A"], f["b"] = M, b
END

# ---- Octave ----
if command -v octave-cli >/dev/null; then
    versions="$versions octave-$(octave-cli --version | sed -n '1s/.*version //p')"
    octave-cli -q --no-history 2>/dev/null <<'END'
A = sparse([4 -1 0 0.5; 0 3 0 0; 2 0 5 0; 0 0 -1.5 6]); b = [1; 2; 3; 4];
save('-v6', 'M.octave6.mat', 'A', 'b'); save('-v7', 'M.octave7.mat', 'A', 'b'); save('-hdf5', 'M.octave.h5', 'A', 'b');
save('-v4', 'M.octave4.mat', 'A', 'b'); save('-text', 'M.octave.txt', 'A', 'b');
model.A = A; model.b = b; model.note = "# name: A"; parts = {A, b};
save('-text', '-zip', 'M.octave.struct.txt.gz', 'parts', 'model');
A = A * (1 + 2i); b = b * 1i;
save('-v7', 'C.octave7.mat', 'A', 'b'); save('-hdf5', 'C.octave.h5', 'A', 'b');
save('-v4', 'C.octave4.mat', 'A', 'b'); save('-text', 'C.octave.txt', 'A', 'b');
A = 8 * eye(4) + 0.5 .^ ((0:3)' + (0:3)); save('-text', 'S.octave.txt', 'A');
A = int32([1 2; 3 4]); save('-text', 'U.octave.txt', 'A');
END
else
    echo "not there: octave"
fi

# ---- programs in C: NAME, flags, and the source on standard input ----
compiled() {
    local name=$1
    shift
    cat >"../$name.c"
    mpicc "../$name.c" -o "../$name" "$@" 2>"../$name.err" && return 0
    echo "not there: $name: $(grep -m 1 -i error "../$name.err")"
    return 1
}
matrix='static const double M[4][4] = {{4, -1, 0, 0.5}, {0, 3, 0, 0}, {2, 0, 5, 0}, {0, 0, -1.5, 6}};'

# MATLAB 7.3, by matio on HDF5
of() { dpkg-query -W -f '${Version}' "$1"; }
{ echo "$matrix"; cat <<'END'; } | compiled matio -lmatio && ../matio && versions="$versions matio-$(of libmatio-dev)"
#include <matio.h>
static void write_one(const char *name, int complex)
{
    mat_uint32_t ir[16], jc[5] = {0};
    double re[16], im[16], b[4] = {1, 2, 3, 4}, zero[4] = {0};
    int n = 0;
    for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 4; i++) {
            if (M[i][j] != 0) { ir[n] = i; re[n] = M[i][j]; im[n++] = 2 * M[i][j]; }
        }
        jc[j + 1] = n;
    }
    mat_complex_split_t pair = {re, im}, rhs = {zero, b};
    mat_sparse_t s = {n, ir, n, jc, 5, n, complex ? (void *)&pair : (void *)re};
    size_t sizes[2] = {4, 4}, column[2] = {4, 1};
    mat_t *file = Mat_CreateVer(name, NULL, MAT_FT_MAT73);
    matvar_t *v = Mat_VarCreate("A", MAT_C_SPARSE, MAT_T_DOUBLE, 2, sizes, &s, complex ? MAT_F_COMPLEX : 0);
    Mat_VarWrite(file, v, MAT_COMPRESSION_ZLIB);
    v = Mat_VarCreate("b", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, column, complex ? (void *)&rhs : (void *)b,
                      complex ? MAT_F_COMPLEX : 0);
    Mat_VarWrite(file, v, MAT_COMPRESSION_ZLIB);
    Mat_Close(file);
}
int main(void) { write_one("M.matio73.mat", 0); write_one("C.matio73.mat", 1); return 0; }
END

# PETSc: a matrix and a vector by one viewer; blocks, and the upper half of a symmetric matrix
petsc_source=$(cat <<'END'
#include <petscmat.h>
static void write_one(const char *name, const char *type, int bs, int full)
{
    Mat A; Vec b; PetscViewer v;
    MatCreate(PETSC_COMM_SELF, &A); MatSetSizes(A, 4, 4, 4, 4); MatSetType(A, type); MatSetBlockSize(A, bs);
    MatSetUp(A);
    MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE);
    if (!strcmp(type, MATSBAIJ)) { MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE); }
    for (PetscInt i = 0; i < 4; i++) {
        for (PetscInt j = 0; j < 4; j++) {
            PetscScalar x = full ? (i == j ? 8.0 : 0.0) + 1.0 / (double)(1 << (i + j)) : M[i][j];
#if defined(PETSC_USE_COMPLEX)
            x *= 1.0 + 2.0 * PETSC_i;
#endif
            if (x != 0.0) { MatSetValue(A, i, j, x, INSERT_VALUES); }
        }
    }
    MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
    VecCreateSeq(PETSC_COMM_SELF, 4, &b);
    for (PetscInt i = 0; i < 4; i++) {
        PetscScalar x = i + 1;
#if defined(PETSC_USE_COMPLEX)
        x *= PETSC_i;
#endif
        VecSetValue(b, i, x, INSERT_VALUES);
    }
    VecAssemblyBegin(b); VecAssemblyEnd(b);
    PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_WRITE, &v); PetscViewerBinarySetSkipInfo(v, PETSC_TRUE);
    MatView(A, v); VecView(b, v);
    PetscViewerDestroy(&v); MatDestroy(&A); VecDestroy(&b);
}
int main(int argc, char **argv)
{
    PetscInitialize(&argc, &argv, NULL, NULL);
#if defined(PETSC_USE_COMPLEX)
    write_one("C.aij.petsc", MATAIJ, 1, 0);
#else
    write_one("M.aij.petsc", MATAIJ, 1, 0); write_one("S.baij.petsc", MATBAIJ, 2, 1);
    write_one("S.sbaij.petsc", MATSBAIJ, 1, 1); write_one("S.blocks2.petsc", MATSBAIJ, 2, 1);
#endif
    return PetscFinalize();
}
END
)
for kind in real complex; do
    export PKG_CONFIG_PATH=/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-$kind/lib/pkgconfig
    flags=$(pkg-config --cflags --libs PETSc 2>/dev/null)
    # shellcheck disable=SC2086
    { echo "$matrix"; echo "$petsc_source"; } | compiled petsc_$kind $flags && ../petsc_$kind &&
        versions="$versions petsc-$kind-$(of libpetsc-$kind-dev)"
done

# hypre: of one process and of two
hypre_flags="-I/usr/include/hypre -lHYPRE -lm"
# shellcheck disable=SC2086
{ echo "$matrix"; cat <<'END'; } | compiled hypre $hypre_flags && mpirun -n 1 ../hypre M.hypre &&
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size; HYPRE_IJMatrix A; HYPRE_IJVector b; char name[64];
    MPI_Init(&argc, &argv); HYPRE_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    HYPRE_BigInt first = rank * 4 / size, last = (rank + 1) * 4 / size - 1;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &A);
    HYPRE_IJMatrixSetObjectType(A, HYPRE_PARCSR); HYPRE_IJMatrixInitialize(A);
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &b);
    HYPRE_IJVectorSetObjectType(b, HYPRE_PARCSR); HYPRE_IJVectorInitialize(b);
    for (HYPRE_BigInt i = first; i <= last; i++) {
        for (HYPRE_BigInt j = 0; j < 4; j++) {
            HYPRE_Int one = 1; double x = M[i][j];
            if (x != 0) { HYPRE_IJMatrixSetValues(A, 1, &one, &i, &j, &x); }
        }
        double x = (double)i + 1; HYPRE_IJVectorSetValues(b, 1, &i, &x);
    }
    HYPRE_IJMatrixAssemble(A); HYPRE_IJVectorAssemble(b);
    HYPRE_IJMatrixPrint(A, argv[1]); snprintf(name, sizeof name, "%s.b", argv[1]); HYPRE_IJVectorPrint(b, name);
    HYPRE_Finalize(); MPI_Finalize(); return 0;
}
END
    mpirun --oversubscribe -n 2 ../hypre M.hypre2 && versions="$versions hypre-$(of libhypre-dev)"

# Rutherford-Boeing, by SuiteSparse's RBio
{ echo "$matrix"; cat <<'END'; } | compiled rbio -I/usr/include/suitesparse -lrbio -lsuitesparseconfig && ../rbio &&
#include <RBio.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    for (int kind = 0; kind < 3; kind++) { /* real, complex, symmetric */
        SuiteSparse_long p[5] = {0}, ind[16], n = 0;
        double re[16], im[16]; char type[4] = "", name[16];
        for (SuiteSparse_long j = 0; j < 4; j++) {
            for (SuiteSparse_long i = 0; i < 4; i++) {
                double x = kind == 2 ? (i == j ? 8.0 : 0.0) + 1.0 / (double)(1 << (i + j)) : M[i][j];
                if (x != 0) { ind[n] = i; re[n] = x; im[n++] = 2 * x; }
            }
            p[j + 1] = n;
        }
        snprintf(name, sizeof name, "%c.rbio.rb", "MCS"[kind]);
        int status = RBwrite(name, "four by four", "KEY", 4, 4, p, ind, re,
                             kind == 1 ? im : NULL, NULL, NULL, kind == 1 ? 2 : 0, type);
        if (status != 0) { fprintf(stderr, "RBwrite: %d\n", status); }
    }
    return 0;
}
END
    versions="$versions rbio-$(of libsuitesparse-dev)"

# ---- archives ----
mkdir M && cp M.scipy.mtx M/M.mtx
printf '%%%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n4\n' >M/M_b.mtx
tar czf M.tar.gz M && tar cJf M.tar.xz M && tar cjf M.tar.bz2 M
bzip2 -k -c M.scipy.mtx >M.mtx.bz2 && xz -k -c M.scipy.mtx >M.mtx.xz
command -v zstd >/dev/null && zstd -q -c M.scipy.mtx >M.mtx.zst
command -v zip >/dev/null && zip -q M.zip M/M.mtx M/M_b.mtx
rm -r M

# ---- comparison ----
"$tool" --version | head -n 1
printf 'written by: %s\n' "$versions"
../v/bin/python - "$tool" <<'END'
import glob, subprocess, sys
import numpy as np, scipy.sparse as sp
M = np.array([[4, -1, 0, 0.5], [0, 3, 0, 0], [2, 0, 5, 0], [0, 0, -1.5, 6]])
S = 8 * np.eye(4) + np.array([[1 / 2 ** (i + j) for j in range(4)] for i in range(4)])
b = np.array([[1.0], [2], [3], [4]])
wanted = {"M": M, "C": M * (1 + 2j), "S": S, "U": np.array([[1, 2], [3, 4]]), "b": b}
failed = 0
def read(name, to):
    done = subprocess.run([sys.argv[1], "convert", name, to], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    if to.endswith(".tess"):  # the matrix, where a file has vectors too
        return read(to, "read.npz")
for name in sorted(glob.glob("*.*")):
    if name.endswith((".b.00000", ".00001", ".info")) or name.startswith("read."):
        continue
    for what, to in (("matrix", "read.tess"), ("right-hand side", "read.npy")):
        # right-hand sides that are in the file: of these programs, all but some
        if what != "matrix" and not any(word in name for word in (".mat", ".h5", "petsc", ".tar", ".zip", "octave.")):
            continue
        if what != "matrix" and name.startswith(("S.octave", "U.octave")):
            continue
        if what == "matrix" and name.startswith("b."):
            what, to = "vector", "read.npy"
        error = read(name, to)
        if not error:
            value = np.load(to) if to.endswith("npy") else sp.load_npz("read.npz")
            value = value.toarray() if hasattr(value, "toarray") else value
            expected = wanted[name[0]] if what != "right-hand side" else b * (1j if name[0] == "C" else 1)
            if value.ndim == 1 and np.iscomplexobj(expected) and not np.iscomplexobj(value):
                value = value.reshape(-1, 2) @ np.array([1, 1j])
            value = value.reshape(-1, 1) if value.ndim == 1 else value
            if value.shape != expected.shape or abs(value - expected).max() > 1e-15:
                error = f"read wrong: {value.tolist()}"
        print(f"{name:20} {what:16} {'ok' if not error else error}")
        failed += bool(error)
sys.exit(1 if failed else 0)
END
code=$?
if [ -n "$keep" ]; then
    gzip -9n ./*.h5 ./*73.mat
    cp ./*.* "$keep/" && rm -f "$keep"/read.* "$keep"/*.info
fi
exit $code
