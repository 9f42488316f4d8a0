# SPDX-License-Identifier: Apache-2.0
"""
The problems of the contest: a matrix, a right-hand side, and what a user knows of them.

A problem is a name of the gallery, `laplace3d:64`, with `bare-` before it without coordinates, or a file,
FILE.mtx[.gz] with FILE.coords.mtx beside it where nodes have coordinates. b = A x with x uniform in (-1, 1), one seed,
so that singular systems have a solution too; several right-hand sides are the columns of b.
"""
import pathlib

import numpy as np
import scipy.io
from scipy import sparse

# Kinds of problems that decide what a library is asked to do.
SPD, SYMMETRIC, UNSYMMETRIC = "spd", "symmetric", "unsymmetric"
ELASTIC, BARE = ("elasticity3d",), "bare-"
OF_GALLERY = {
    "laplace2d": SPD, "laplace3d": SPD, "laplace3d27": SPD, "jump3d": SPD, "stretched2d": SPD, "anisotropic2d": SPD,
    "unstructured2d": SPD, "elasticity3d": SPD, "randomdiffusion3d": SPD, "stokes2d": SYMMETRIC, "stokes3d": SYMMETRIC,
}

# Real matrices, by what they are of; regular ones, most of them of more than 10,000 rows.
REAL = {
    "bcsstk25": "structural", "G2_circuit": "circuit", "shallow_water1": "weather", "cvxbqp1": "optimisation",
    "x_kkt_CONT-201": "optimisation, KKT", "hangGlider_3": "optimal control",
    "airfoil_2d": "fluid", "epb1": "thermal", "wang4": "semiconductor", "utm5940": "electromagnetics",
    "bayer10": "chemical", "cage11": "graph",
}


def lattice(n):
    """The nodes of the gallery's elasticity3d N."""
    z, y, x = np.meshgrid(np.arange(1, n + 1), np.arange(n + 1), np.arange(n + 1), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1).astype(float)


def rigid_body_modes(coordinates):
    """The motions without strain of nodes: n by 6 (2-D: 3), orthonormal."""
    x = coordinates - coordinates.mean(axis=0)
    nodes, dimensions = x.shape
    planes = [(0, 1), (1, 2), (2, 0)] if dimensions == 3 else [(0, 1)]
    modes = np.zeros((nodes, dimensions, dimensions + len(planes)))
    for d in range(dimensions):
        modes[:, d, d] = 1
    for k, (p, q) in enumerate(planes):
        modes[:, p, dimensions + k] = -x[:, q]
        modes[:, q, dimensions + k] = x[:, p]
    return np.linalg.qr(modes.reshape(nodes * dimensions, -1))[0]


def kind_of(matrix):
    """By its entries: symmetric matrices with a positive diagonal count as definite."""
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 1e-12 * abs(matrix).max():
        return UNSYMMETRIC
    return SPD if np.all(matrix.diagonal() > 0) else SYMMETRIC


def from_gallery(name):
    try:
        import tessera_sparse as ts
    except ModuleNotFoundError:
        raise ValueError("problems of the gallery need tessera_sparse in the Python that runs contest.py: install the "
                         "wheel there, or take files and --problems real") from None
    words = name.removeprefix(BARE).split(":")
    matrix = ts.Matrix.gallery(words[0], *words[1:], context=ts.Context(device="cpu")).to_scipy()
    coordinates = lattice(int(words[1])) if words[0] in ELASTIC and not name.startswith(BARE) else None
    return sparse.csr_matrix(matrix), coordinates, OF_GALLERY.get(words[0]) or kind_of(sparse.csr_matrix(matrix))


def from_file(path):
    path = pathlib.Path(path)
    rows, columns, _, _, field, _ = scipy.io.mminfo(path)
    if field not in ("real", "integer"):
        raise ValueError(f"values of {path.name} are {field}: real ones are needed")
    if rows != columns:
        raise ValueError(f"{path.name} has {rows} rows and {columns} columns: a square matrix is needed")
    matrix = sparse.csr_matrix(scipy.io.mmread(path), dtype=np.float64)
    beside = path.with_name(path.name.split(".mtx")[0] + ".coords.mtx")
    coordinates = np.asarray(scipy.io.mmread(beside)) if beside.exists() else None
    return matrix, coordinates, kind_of(matrix)


def place_of(name, matrices):
    """The file of a name: as it is, or in the folder `matrices`; None where it is of the gallery."""
    if ".mtx" not in name and name not in REAL:
        return None
    path = pathlib.Path(name if ".mtx" in name else name + ".mtx.gz")
    return path if path.exists() or matrices is None else pathlib.Path(matrices) / path


def make(name, folder, count=1, matrices=None):
    """Writes the problem with `count` right-hand sides to a file of `folder`; returns its path."""
    target = pathlib.Path(folder) / (pathlib.Path(name).name.replace(":", "-") + ".npz")
    place = place_of(name, matrices)
    matrix, coordinates, kind = from_file(place) if place else from_gallery(name)
    if np.iscomplexobj(matrix.data):
        raise ValueError(f"values of {name} are complex: real ones are needed")
    matrix.sort_indices()
    x = np.random.default_rng(1).uniform(-1.0, 1.0, (matrix.shape[0], count) if count > 1 else matrix.shape[0])
    np.savez(target, indptr=matrix.indptr.astype(np.int32), indices=matrix.indices.astype(np.int32), data=matrix.data,
             b=np.asfortranarray(matrix @ x), kind=kind, name=pathlib.Path(name).name.split(".mtx")[0],
             **({} if coordinates is None else {"coordinates": coordinates}))
    return target


class Problem:
    """What a file of `make` holds."""

    def __init__(self, path):
        with np.load(path) as arrays:
            n = len(arrays["indptr"]) - 1
            self.matrix = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
            self.b, self.kind, self.name = arrays["b"], str(arrays["kind"]), str(arrays["name"])
            self.coordinates = arrays["coordinates"] if "coordinates" in arrays.files else None
        self.n = n
        self.unknowns = 1 if self.coordinates is None else self.coordinates.shape[1]

    def with_diagonal(self):
        """The matrix with all entries of its diagonal, zeros too, as some libraries need it."""
        missing = np.ones(self.n, dtype=bool)
        rows = np.repeat(np.arange(self.n), np.diff(self.matrix.indptr))
        missing[rows[self.matrix.indices == rows]] = False
        if not missing.any():
            return self.matrix
        extra, m = np.flatnonzero(missing), self.matrix
        rows, columns = np.append(rows, extra), np.append(m.indices, extra)
        order = np.lexsort((columns, rows))
        indptr = m.indptr + np.append(0, np.cumsum(missing)).astype(np.int32)
        values = np.append(m.data, np.zeros(len(extra)))[order]
        return sparse.csr_matrix((values, columns[order].astype(np.int32), indptr), shape=m.shape)

    def columns(self):
        """The right-hand sides, one after another."""
        return [self.b] if self.b.ndim == 1 else list(self.b.T)
