# SPDX-License-Identifier: Apache-2.0
"""What preconditioners take as arrays, such as near-nullspace vectors; levels and blocks of saddle as dicts."""
import ctypes

import numpy as np

from . import _abi, _arrays, _saddle
from ._library import check, enum_name, lib, to_dict, new_struct

ARRAYS = {
    "near_nullspace": "amg: vectors that A nearly maps to zero, an array with a row for each row of A",
    "coordinates": "amg: the nodes of an elastic body, an array with a row for each node and 2 or 3 columns; for its "
                   "rigid-body modes",
    **_saddle.ARRAYS,
}


def taken_from(values):
    """Takes the arrays out of keyword arguments; those that are None count as not given."""
    given = {name: values.pop(name) for name in ARRAYS if name in values}
    return {name: array for name, array in given.items() if array is not None}


def set_arrays(precond, given, matrix, keep):
    """Sets what `taken_from` found in tess_precond_options. `keep` holds the vectors."""
    of_saddle = {name: given[name] for name in given if name in _saddle.ARRAYS}
    if of_saddle:
        _saddle.set_arrays(precond, of_saddle, matrix, keep)
    given = {name: given[name] for name in given if name not in of_saddle}
    if not given:
        return
    name = next(iter(given))
    if len(given) > 1:
        raise ValueError("coordinates and near_nullspace both say what the near-nullspace is; give one")
    multigrid = precond.kind in (_abi.TESS_PRECOND_AMG, _abi.TESS_PRECOND_AUTO)
    if not multigrid or precond.amg.coarsening == _abi.TESS_AMG_CLASSICAL:
        raise ValueError(f"{name} is for precond='amg' by aggregation, or 'auto'; take one of these, and leave out "
                         "amg_coarsening='classical'")
    array = np.asarray(_arrays.host_array(given[name], name), dtype=np.float64)
    array = array.reshape(-1, 1) if array.ndim == 1 else array
    vectors = _rigid_body_modes(precond, array, matrix) if name == "coordinates" else _checked(array, matrix)
    precond.amg.near_nullspace_columns = vectors.shape[1]
    precond.amg.near_nullspace = _arrays.address(vectors)
    keep.append(vectors)


def _checked(vectors, matrix):
    if vectors.ndim != 2 or vectors.shape[0] != matrix.shape[0] or vectors.shape[1] < 1:
        raise ValueError(f"near_nullspace has the shape {vectors.shape}; wanted are {matrix.shape[0]} rows, as the "
                         "matrix has, and a column for each vector")
    return np.asfortranarray(vectors)


def _rigid_body_modes(precond, nodes, matrix):
    amg = precond.amg
    if nodes.ndim != 2 or nodes.shape[1] not in (2, 3) or nodes.size != matrix.shape[0]:
        raise ValueError(f"coordinates have the shape {nodes.shape}; wanted is a row with 2 or 3 coordinates for each "
                         f"node, and the matrix has as many rows for each node; it has {matrix.shape[0]}")
    count, dimensions = nodes.shape
    if amg.block_size not in (0, dimensions):
        raise ValueError(f"coordinates have {dimensions} columns, the unknowns of a node, but amg_block_size is "
                         f"{amg.block_size}; leave it out")
    nodes, modes = np.asfortranarray(nodes), np.empty((nodes.size, 3 * dimensions - 3), order="F")
    with matrix.context.lock:
        check(lib.tess_rigid_body_modes(matrix.context.pointer, count, dimensions, _arrays.address(nodes),
                                        _arrays.address(modes)), matrix.context.pointer)
    if precond.kind == _abi.TESS_PRECOND_AMG:  # auto finds it in the pattern
        amg.block_size = dimensions
    return modes


def levels_of(precond, context):
    """The levels of a tess_precond, by the names of `amg` in the tool's JSON."""
    facts = new_struct(_abi.tess_amg_levels)
    check(lib.tess_precond_get_levels(precond, ctypes.byref(facts)), context.pointer)
    fields = to_dict(facts)
    fields["levels"] = fields.pop("level")[:fields.pop("count")]
    return fields


def saddle_of(precond, context):
    """The blocks of a tess_precond for a saddle point, by the names of `saddle` in the tool's JSON."""
    parts = new_struct(_abi.tess_saddle_parts)
    check(lib.tess_precond_get_saddle(precond, ctypes.byref(parts)), context.pointer)
    fields = to_dict(parts)
    fields["index_given"] = bool(fields["index_given"])
    for name, inner in (("a", parts.a_precond), ("s", parts.schur_precond)):
        kind = lib.tess_precond_get_kind(inner)
        fields[name] = {"precond": enum_name("tess_precond_kind", kind),
                        "amg": levels_of(inner, context) if kind == _abi.TESS_PRECOND_AMG else None}
    return fields
