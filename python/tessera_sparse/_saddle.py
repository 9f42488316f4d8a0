# SPDX-License-Identifier: Apache-2.0
"""What the preconditioner saddle takes as arrays: the rows of the second block, a matrix for the Schur complement."""
import numpy as np

from . import _abi, _arrays

ARRAYS = {
    "saddle_index": "saddle: the rows of the second block, the constraints, from 0 (default: rows without a diagonal "
                    "entry, or with a small one)",
    "schur_matrix": "saddle: a matrix in place of the Schur complement, such as the mass matrix of pressure; "
                    "with schur_precondition='user'",
}


def set_arrays(precond, given, matrix, keep):
    """Sets the arrays in tess_precond_options. `keep` holds them as long as the solver."""
    if precond.kind != _abi.TESS_PRECOND_SADDLE:
        raise ValueError(f"{next(iter(given))} is for precond='saddle'; name it")
    if "saddle_index" in given:
        index = _checked(_arrays.host_array(given["saddle_index"], "saddle_index"))
        precond.saddle.index_count, precond.saddle.index = index.size, _arrays.address(index)
        keep.append(index)
    if "schur_matrix" in given:
        from ._matrix import Matrix, as_matrix  # which imports the options, and they these arrays
        schur = given["schur_matrix"]
        schur = schur if isinstance(schur, Matrix) else Matrix(schur, context=matrix.context)
        precond.saddle.schur_matrix = as_matrix(schur).form.pointer
        keep.append(schur)


def _checked(index):
    index = np.asarray(index)
    if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
        raise ValueError(f"saddle_index has the shape {index.shape} and the type {index.dtype}; wanted are the numbers "
                         "of rows, from 0, as a list of integers")
    return np.array(index, dtype=np.int64)  # a copy: the caller's may change
