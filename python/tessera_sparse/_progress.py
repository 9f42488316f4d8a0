# SPDX-License-Identifier: Apache-2.0
"""A bar of tqdm: how far the residual has come from its start to the tolerance, on a scale of powers of ten."""
import math
from contextlib import contextmanager

from ._interrupts import import_whole


@contextmanager
def bar():
    tqdm = import_whole("tqdm.auto").tqdm
    state = {"start": None, "done": 0.0}
    with tqdm(total=1.0, bar_format="{l_bar}{bar}| {elapsed}{postfix}") as line:
        def step(seen):
            if state["start"] is None:
                state["start"] = seen.residual_norm
            if seen.residual_norm > 0 and seen.tolerance > 0 and state["start"] > seen.tolerance:
                share = math.log(state["start"] / seen.residual_norm) / math.log(state["start"] / seen.tolerance)
                share = min(max(share, state["done"]), 1.0)
                line.update(share - state["done"])
                state["done"] = share
            line.set_postfix_str(f"iteration {seen.iteration}, residual {seen.residual_norm:.1e}", refresh=False)
            return 0
        yield step
