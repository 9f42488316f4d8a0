# SPDX-License-Identifier: Apache-2.0
"""Newton's method for nonlinear diffusion, u - div((1 + u^2) grad u) = f: a sequence of systems with the Jacobian."""
import numpy as np
import scipy.sparse

import tessera_sparse as ts

SIDE = 40
cell = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
first = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])   # the two cells of each face
second = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
source = 3.0 * np.exp(-20.0 * np.linspace(-1.0, 1.0, SIDE * SIDE) ** 2)


def parts(u):
    """F(u) and its Jacobian, whose pattern is always the same."""
    mean, jump = 0.5 * (u[first] + u[second]), u[first] - u[second]
    flux = (1.0 + mean**2) * jump
    by_first, by_second = mean * jump + 1.0 + mean**2, mean * jump - 1.0 - mean**2   # derivatives of the flux
    F = u - source
    np.add.at(F, first, flux)
    np.add.at(F, second, -flux)
    rows = np.concatenate([first, first, second, second, cell.ravel()])
    columns = np.concatenate([first, second, first, second, cell.ravel()])
    values = np.concatenate([by_first, by_second, -by_first, -by_second, np.ones(u.size)])
    J = scipy.sparse.coo_array((values, (rows, columns))).tocsr()
    J.sort_indices()
    return F, J


def newton():
    """(norm of F, result) of each Newton step; a step is solved as far as it is worth."""
    u = np.zeros(SIDE * SIDE)
    F, J = parts(u)
    with ts.Sequence(J, solver="bicgstab", precond="ilu0", kept_solutions=0) as sequence:
        while np.linalg.norm(F) > 1e-9 * np.linalg.norm(source):
            sequence.set_limits(rtol=min(0.01, np.linalg.norm(F) / np.linalg.norm(source)))
            result = sequence.solve(-F, values=J.data)
            u += result.x
            F, J = parts(u)
            yield np.linalg.norm(F), result


if __name__ == "__main__":
    for norm, result in newton():
        print(f"||F|| = {norm:.1e}: {result.iterations:2d} iterations, renewed {result.renewed}; {result.why}")
