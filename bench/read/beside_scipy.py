# SPDX-License-Identifier: Apache-2.0
"""
Reading Matrix Market, gzipped and not, beside scipy.io.mmread:
python bench/read/beside_scipy.py TOOL [REPEATS [FOLDER]]
TOOL: build/release/tessera, which makes three files of 68 MB in FOLDER (a temporary one): a Laplacian in a cube, the
lower triangle of one, and diffusion with random coefficients, of 17 digits. The same by columns, as the SuiteSparse
collection has its files, comes from SciPy's order. Reads are in turns; the least and the median of REPEATS (9) count,
in milliseconds. The files are in the page cache. SciPy reads with as many threads as there are processors.
"""
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp

import tessera_sparse as ts

FILES = [("laplace3d", ["laplace3d", "84"]), ("lower triangle", ["laplace3d", "100", "--symmetric"]),
         ("17 digits", ["randomdiffusion3d", "66"])]


def make(tool, folder):
    for label, words in FILES:
        path = os.path.join(folder, label.replace(" ", "_") + ".mtx")
        if not os.path.exists(path):
            subprocess.run([tool, "generate", *words, "--output", path], check=True, capture_output=True)
        yield label, path
    A = sp.coo_array(scipy.io.mmread(os.path.join(folder, "17_digits.mtx")))
    order = np.lexsort((A.row, A.col))
    path = os.path.join(folder, "17_digits_columns.mtx")
    if not os.path.exists(path):
        scipy.io.mmwrite(path, sp.coo_array((A.data[order], (A.row[order], A.col[order])), shape=A.shape), precision=17,
                         symmetry="general")
    yield "17 digits, by columns", path


def packed(path):
    if not os.path.exists(path + ".gz"):
        with open(path, "rb") as source, gzip.open(path + ".gz", "wb", 6) as target:
            while piece := source.read(1 << 20):
                target.write(piece)
    return path + ".gz"


def same(ours, theirs):
    """Whether both have read the same matrix."""
    difference = sp.csr_array(theirs) - ours.to_scipy()
    return difference.nnz == 0 or abs(difference).max() == 0


def compare(label, path, repeats):
    times = [[], []]
    if not same(ts.Matrix.read(path), scipy.io.mmread(path)):
        sys.exit(f"{path}: the matrices differ")
    for _ in range(repeats):
        for k, read in enumerate((scipy.io.mmread, ts.Matrix.read)):
            start = time.perf_counter()
            A = read(path)
            times[k].append(1e3 * (time.perf_counter() - start))
            del A
    least, median = [min(t) for t in times], [statistics.median(t) for t in times]
    print(f"{label:28} {os.path.getsize(path) / 1e6:6.1f} {least[0]:8.1f} {least[1]:8.1f} {least[0] / least[1]:6.2f}   "
          f"{median[0]:8.1f} {median[1]:8.1f} {median[0] / median[1]:6.2f}", flush=True)


def main(tool, repeats=9, folder=None):
    with tempfile.TemporaryDirectory() as temporary:
        print(f"tessera {ts.__version__}, SciPy {scipy.__version__}, processors {os.cpu_count()}, "
              f"OMP_NUM_THREADS {os.environ.get('OMP_NUM_THREADS', '-')}, load {os.getloadavg()[0]:.1f}")
        print("file                             MB    SciPy     ours  ratio     SciPy     ours  ratio (medians)")
        for label, path in make(tool, folder or temporary):
            compare(label, path, int(repeats))
            compare(label + ", gzip", packed(path), int(repeats))


main(*sys.argv[1:])
