# SPDX-License-Identifier: Apache-2.0
"""Implicit time steps of a heat equation whose conductivity changes: (I + dt K(t)) u_new = u_old + dt f."""
import numpy as np
import scipy.sparse

import tessera_sparse as ts

SIDE, STEPS, DT = 60, 20, 50.0
cell = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
first = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])   # the two cells of each face
second = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])


def matrix(t):
    """I + dt K: the same pattern at every t."""
    k = DT * np.exp(0.5 * np.sin(0.01 * first + t))
    graph = scipy.sparse.coo_array((np.concatenate([k, k]), (np.concatenate([first, second]),
                                                             np.concatenate([second, first]))))
    A = scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 + graph.sum(axis=1)) - graph)
    A.sort_indices()
    return A


def steps():
    """(time, result) of each time step."""
    u, source = np.zeros(SIDE * SIDE), np.exp(-np.linspace(-3.0, 3.0, SIDE * SIDE) ** 2)
    with ts.Sequence(matrix(0.0), solver="cg", precond="amg", rtol=1e-8) as sequence:
        for k in range(STEPS):
            t = 0.02 * k
            result = sequence.solve(u + DT * (1.0 + t) * source, values=matrix(t).data)
            u = result.x
            yield t, result


if __name__ == "__main__":
    for t, result in steps():
        print(f"t = {t:.2f}: {result.iterations:2d} iterations, guess {result.step['guess']}, verified "
              f"{result.verified}; {result.why}")
