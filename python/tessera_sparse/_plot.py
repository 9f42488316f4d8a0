# SPDX-License-Identifier: Apache-2.0
"""Pictures, by matplotlib."""
import numpy as np

from ._errors import counted
from ._interrupts import import_whole

COLOURS = {"fp64": "#1f3b73", "fp32": "#2a7fb8", "bf16": "#8f5fbf", "fp16": "#3aa66b", "fp8": "#e08b2c"}


def _axes(ax):
    pyplot = import_whole("matplotlib.pyplot")
    return ax if ax is not None else pyplot.subplots()[1]


def plot_history(result, ax=None, **keywords):
    ax = _axes(ax)
    for number, column in enumerate(result.columns):
        history = column.history
        seen = np.flatnonzero(np.isfinite(history) & (history > 0))
        label = {"label": f"column {number}"} if len(result.columns) > 1 else {"label": "estimated residual"}
        ax.semilogy(seen, history[seen], **{**label, **keywords})
    ax.plot([result.iterations], [max(result.residual_norm, 1e-300)], "o", color="black", label="true residual")
    if result.tolerance > 0:
        ax.axhline(result.tolerance, linestyle="--", linewidth=1, color="grey", label="tolerance")
    ax.set_xlabel("iteration")
    ax.set_ylabel("||b - A x||")
    ax.set_title(f"{result.solver}: {result.reason_text}", fontsize="medium")
    ax.legend()
    return ax


def lowest_precision(values):
    """The lowest of fp64, fp32, fp16 that stores each value exactly: 0, 1 or 2."""
    values = np.asarray(values)
    level = np.zeros(values.size, dtype=np.int8)
    with np.errstate(over="ignore"):
        single, half = values.astype(np.float32), values.astype(np.float16)
    level[single.astype(np.float64) == values] = 1
    level[half.astype(np.float64) == values] = 2
    return level


def spy(matrix, ax=None, *, cells=400, **keywords):
    """
    The pattern, at most `cells` by `cells` cells, each in the colour of the highest precision that one of its values
    needs to be stored exactly.
    """
    ax, (data, columns, offsets) = _axes(ax), matrix.csr()
    nrows, ncols = matrix.shape
    rows = np.repeat(np.arange(nrows), np.diff(offsets))
    height, width = min(nrows, cells), min(ncols, cells)
    picture = np.full((height, width), 3, dtype=np.int8)
    np.minimum.at(picture, (rows * height // max(nrows, 1), columns.astype(np.int64) * width // max(ncols, 1)),
                  lowest_precision(data))
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch
    names = ["fp64", "fp32", "fp16"]
    ax.imshow(picture, cmap=ListedColormap([COLOURS[name] for name in names] + ["white"]), vmin=0, vmax=3,
              interpolation="nearest", extent=(-0.5, ncols - 0.5, nrows - 0.5, -0.5), aspect="auto", **keywords)
    present = [name for level, name in enumerate(names) if (picture == level).any()]
    ax.legend(handles=[Patch(color=COLOURS[name], label=name) for name in present], loc="upper right")
    ax.set_title(f"{nrows} by {ncols}, {counted(matrix.nnz, 'nonzero')}", fontsize="medium")
    return ax
