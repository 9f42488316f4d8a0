# SPDX-License-Identifier: Apache-2.0
"""What a contestant is: a library at one setting, which sets up and solves one problem."""
import numpy as np

MOST = 2000  # iterations


def norm(x):
    """The 2-norm, for any size of its values."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return largest * float(np.linalg.norm(x / largest)) if 0.0 < largest < float("inf") else largest


def on_device(array):
    import cupy
    return cupy.asarray(array)


class Solver:
    """
    `FOR` has the settings for each kind of problem, `MANY` says whether the library takes several right-hand sides: all
    at once where it overrides `solve`, else one after another by `solve_column`. `claimed` is None where nobody told
    the library a tolerance (complete factors), or one in another norm: `OTHER_NORM` has such settings. `choice` is what
    it took where it chooses.
    """

    FOR, MANY, OTHER_NORM = {}, True, ()
    version, iterations, claimed, choice = "", 0, None, None
    is_first = True  # of several processes, the one that reports

    def __init__(self, problem, setting, options):
        self.problem, self.setting, self.rtol = problem, setting, options.rtol
        self.on_gpu = options.device == "cuda"

    def wait(self):
        """Until the device has done what was asked of it."""

    def agreed(self, decision):
        """What the first of several processes decides."""
        return decision

    def setup(self):
        """Before each solve, anew."""

    def solve_column(self, b):
        """x, its iterations, and whether the library says that its residual meets the tolerance."""
        raise NotImplementedError

    def solve(self):
        found = [self.solve_column(b) for b in self.problem.columns()]
        x, iterations, claims = zip(*found)
        self.x = x[0] if self.problem.b.ndim == 1 else np.stack(x, axis=1)
        self.iterations = max(iterations)
        self.claimed = None if self.setting in self.OTHER_NORM else all(claims)

    def answer(self):
        return np.asarray(self.x)
