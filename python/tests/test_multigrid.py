# SPDX-License-Identifier: Apache-2.0
"""Multigrid from Python: near-nullspace vectors, coordinates, precisions by level, the levels' report."""
import numpy as np
import pytest

import tessera_sparse as ts

K = 8
BODY = ("elasticity3d", K)


def lattice():
    """The nodes of the gallery's elasticity3d K."""
    z, y, x = np.meshgrid(np.arange(1, K + 1), np.arange(K + 1), np.arange(K + 1), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def modes(nodes):
    """Rigid-body modes, by their definition."""
    x, dimensions = nodes - nodes.mean(axis=0), nodes.shape[1]
    planes = [(0, 1), (1, 2), (2, 0)] if dimensions == 3 else [(0, 1)]
    found = np.zeros((nodes.shape[0], dimensions, dimensions + len(planes)))
    for d in range(dimensions):
        found[:, d, d] = 1.0
    for k, (p, q) in enumerate(planes):
        found[:, p, dimensions + k], found[:, q, dimensions + k] = -x[:, q], x[:, p]
    return np.linalg.qr(found.reshape(nodes.size, -1))[0]


def solved(A, **options):
    result = ts.solve(A, np.ones(A.shape[0]), solver="cg", precond="amg", rtol=1e-8, **options)
    assert result.verified
    return result.iterations


@pytest.mark.parametrize("form", ["C", "F", "integers", "list"])
def test_coordinates_give_rigid_body_modes(form):
    A, nodes = ts.Matrix.gallery(*BODY), lattice()
    given = {"C": nodes.astype(float), "F": np.asfortranarray(nodes, dtype=float), "integers": nodes,
             "list": nodes.tolist()}[form]
    with_modes = solved(A, coordinates=given)
    assert 1.3 * with_modes <= solved(A)  # constants alone: 92, modes: 66
    assert with_modes == solved(A, near_nullspace=modes(nodes), amg_block_size=3)


def test_vectors_go_to_objects_too():
    A, nodes, b = ts.Matrix.gallery(*BODY), lattice(), np.ones(3 * K * (K + 1) ** 2)
    M = ts.amg(A, coordinates=nodes)
    by_object = ts.solve(A, b, solver="cg", precond=M, rtol=1e-8)
    assert by_object.verified and by_object.iterations == solved(A, coordinates=nodes)
    solver = ts.Solver(A, solver="cg", precond="amg", rtol=1e-8, coordinates=nodes)
    assert solver.amg["levels"] == M.amg["levels"] and solver.amg["coarsening"] == "aggregation"
    solver.set_limits(rtol=1e-10)
    assert solver.solve(b).verified
    solver.update_values(2.0 * A.csr()[0])
    assert solver.solve(b).verified


def test_one_vector_may_be_flat():
    A = ts.Matrix.gallery("laplace2d", 30)
    near = np.ones(900)
    assert solved(A, near_nullspace=near) == solved(A, near_nullspace=near.reshape(-1, 1))
    assert solved(A, near_nullspace=None) == solved(A)


def test_automatic_solves_take_vectors():
    A = ts.Matrix.gallery("elasticity3d", 16)
    z, y, x = np.meshgrid(np.arange(16), np.arange(17), np.arange(17), indexing="ij")
    nodes = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1).astype(float)
    b = np.ones(A.shape[0])
    plain, given = (ts.solve(A, b, rtol=1e-6, **options) for options in ({}, {"coordinates": nodes}))
    assert plain.verified and given.verified
    assert given.precond["kind"] == "amg" and given.iterations < plain.iterations


def test_precisions_by_level():
    A = ts.Matrix.gallery("laplace3d", 20)
    for given in ("fp64,fp32,fp16", ["fp64", "fp32", "fp16"], ("fp64", "fp32", "fp16")):
        levels = ts.amg(A, amg_precision=given).amg["levels"]
        assert [level["precision"] for level in levels[:3]] == ["fp64", "fp32", "fp16"]
        assert len(levels) > 2 and levels[0]["rows"] == 8000
    assert {level["precision"] for level in ts.amg(A, amg_precision="fp32").amg["levels"]} == {"fp32"}
    assert ts.amg(A, amg_precision="fp32").amg["operator_complexity"] > 1.0


@pytest.mark.parametrize("options,text", [
    ({"near_nullspace": np.ones(5)}, r"shape \(5, 1\); wanted are 400 rows"),
    ({"near_nullspace": np.ones((400, 17))}, "the near-nullspace has 17 vectors, but amg takes 16 at most"),
    ({"near_nullspace": np.ones((400, 0))}, "a column for each vector"),
    ({"coordinates": np.ones((400, 3))}, "it has 400"),
    ({"coordinates": np.ones((200, 2)), "amg_block_size": 4}, "coordinates have 2 columns, .* amg_block_size is 4"),
    ({"near_nullspace": np.ones((400, 16)), "amg_modes": 1}, "leaves no room for more"),
    ({"near_nullspace": np.ones((400, 1)), "amg_split": "pmis"},
     "amg_split is for classical coarsening, which a near-nullspace excludes"),
    ({"coordinates": np.ones((400, 1))}, "2 or 3 coordinates"),
    ({"coordinates": np.full((200, 2), np.nan)}, "coordinate"),
    ({"coordinates": np.ones((200, 2)), "near_nullspace": np.ones(400)}, "give one"),
    ({"near_nullspace": np.ones(400), "precond": "ic0"}, "precond='amg'"),
    ({"near_nullspace": np.ones(400), "amg_coarsening": "classical"}, "precond='amg'"),
    ({"amg_precision": "fp32,fp7"}, "fp7"), ({"amg_precision": ["fp32"] * 17}, "up to 16"),
])
def test_what_does_not_fit_is_refused(options, text):
    A = ts.Matrix.gallery("laplace2d", 20)
    with pytest.raises(ValueError, match=text):
        ts.Solver(A, solver="cg", **{"precond": "amg", **options})
    with pytest.raises(ValueError, match=text):
        ts.Preconditioner(A, **{("kind" if name == "precond" else name): value
                                for name, value in {"precond": "amg", **options}.items()})


def test_only_multigrid_has_levels():
    A = ts.Matrix.gallery("laplace2d", 20)
    with pytest.raises(NotImplementedError, match="levels"):
        ts.ic0(A).amg
    with pytest.raises(TypeError, match="no option"):
        ts.Solver(A, near_nullspace_columns=2)


def test_transposed_solvers_keep_their_preconditioner():
    A = ts.Matrix.gallery("uniflow2d", 30)
    for precond in ("ilu0", ts.ilut(A, 1e-3, 10), ts.amg(A, amg_precision="fp32,fp16")):
        transposed = ts.Solver(A, solver="bicgstab", precond=precond, rtol=1e-10).transposed()
        kind = transposed._values["precond"]
        result = transposed.solve(np.ones(900))
        assert result.verified and result.precond["kind"] == kind.partition(":")[0]
    assert kind == "amg" and transposed.options.precond.amg.level_precision[0] == 2
    assert ts.Solver(A, precond=ts.ilut(A, 1e-2, 5)).transposed().options.precond.threshold.drop == 1e-2
