# SPDX-License-Identifier: Apache-2.0
"""Kinds of pictures for row-wise mixed precision: Figures 13 to 16 of Tezcan et al. (2022), and waves."""
import gzip
import math
import sys

import matplotlib.pyplot as plt
import numpy
from matplotlib.ticker import FuncFormatter, NullFormatter

from plot_common import (by_contestant, kernel_colours, legend_below, matrices_of, panels, plain_number, read_rows,
                         wanted_rows)

# Black and blue stay for names that contain fp64 and fp32.
VARIANTS = ["#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#F0E442", "#999999"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
POINTS_PER_PATCH = 12  # of a wave's picture, on average


# ---- performance profiles: Figure 13 ----

def profile(seconds, matrices):
    """Dolan and More: {contestant: ascending times over the best one's, of the matrices that it managed}."""
    best = {m: min((times[m] for times in seconds.values() if m in times), default=None) for m in matrices}
    return {name: sorted(times[m] / best[m] for m in matrices if m in times) for name, times in seconds.items()}


def draw_profile(paths, options):
    rows = wanted_rows(paths, options, "matrix", "seconds.median")
    seconds, matrices = by_contestant(rows, "seconds.median"), matrices_of(rows)
    ratios = profile(seconds, matrices)
    end = max((values[-1] for values in ratios.values() if values), default=1.0)
    end = 1.0 + 1.05 * (end - 1.0) if end > 1.0 else 2.0
    figure, axis = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    colours = kernel_colours(ratios, VARIANTS)
    for index, (name, values) in enumerate(ratios.items()):
        share = [count / len(matrices) for count in range(len(values) + 1)]
        axis.step([1.0, *values, end], [*share, share[-1]], where="post", color=colours[name],
                  linestyle=DASHES[index % len(DASHES)], label=name)
    if end > 8.0:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axis.set_xlim(1.0, end)
    axis.set_ylim(0.0, 1.02)
    axis.set_xlabel("time over that of the fastest")
    axis.set_ylabel(f"share of {len(matrices)} matrices")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 3)
    return figure


# ---- residuals: Figure 14 ----

def draw_residuals(paths, options):
    rows = wanted_rows(paths, options, "matrix", "relative_residual")
    residuals = by_contestant(rows, "relative_residual")
    leader = options.baseline or next(iter(residuals))
    if leader not in residuals:
        sys.exit(f"no contestant '{leader}'; there are: {'; '.join(residuals)}")
    order = sorted(matrices_of(rows), key=lambda matrix: residuals[leader].get(matrix, math.inf))
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    colours = kernel_colours(residuals, VARIANTS)
    for index, (name, values) in enumerate(residuals.items()):
        # A residual of zero has no place on a logarithmic axis: the line has a gap there.
        heights = [values[matrix] if values.get(matrix, 0.0) > 0.0 else math.nan for matrix in order]
        axis.plot(range(1, len(order) + 1), heights, color=colours[name], linestyle=DASHES[index % len(DASHES)],
                  marker="o" if len(order) <= 40 else None, markersize=3, label=name)
    axis.set_yscale("log")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(f"matrix, in the order of {leader}")
    axis.set_ylabel("relative residual")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 3)
    return figure


# ---- speed-ups per matrix and variant: Figures 15 and 16 ----

def draw_bars(paths, options):
    everything = by_contestant([row for path in paths for row in read_rows(path)[0]], "seconds.median")
    rows = wanted_rows(paths, options, "matrix", "seconds.median")
    series, matrices = {}, matrices_of(rows)
    for row in rows:  # each over its own base, or over --baseline
        base = everything.get(options.baseline or row.get("base"), {}).get(row["matrix"])
        if base is not None:
            series.setdefault(row["contestant"], {})[row["matrix"]] = base / row["seconds"]["median"]
    thick = 0.8 / len(series)
    figure, axis = plt.subplots(figsize=(1.6 + max(3.2, len(matrices) * max(0.3, 0.16 * len(series))), 3.4),
                                layout="constrained")
    colours = kernel_colours(series, VARIANTS)
    for index, (name, values) in enumerate(series.items()):
        place = [matrices.index(matrix) + (index - (len(series) - 1) / 2) * thick for matrix in values]
        axis.bar(place, list(values.values()), width=0.92 * thick, color=colours[name], label=name)
    axis.axhline(1.0, color="#404040", linewidth=1.0)
    turned = any(len(matrix) > 10 for matrix in matrices) or len(matrices) > 8
    axis.set_xticks(range(len(matrices)), matrices, rotation=40 if turned else 0, ha="right" if turned else "center")
    axis.grid(axis="x", visible=False)
    axis.tick_params(axis="x", length=0)
    axis.set_ylabel(f"speed-up over {options.baseline}" if options.baseline else "speed-up")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 4)
    return figure


# ---- waves ----

def read_array(path):
    """A Matrix Market array of real numbers, plain or gzip."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        header = file.readline().lower().split()
        if header[:4] != ["%%matrixmarket", "matrix", "array", "real"]:
            sys.exit(f"{path}: not a Matrix Market array of real numbers")
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
        nrows, ncols = (int(word) for word in line.split())
        values = numpy.array(file.read().split(), dtype=float)
    if values.size != nrows * ncols:
        sys.exit(f"{path}: {values.size} values where the size line says {nrows} by {ncols}")
    return values.reshape((ncols, nrows)).T


def patches(points):
    """Edges of patches in angle around the z axis (degrees) and height, bands of heights with equally many points."""
    x, y, z = points.T
    bands = max(4, int(math.sqrt(len(points) / POINTS_PER_PATCH / 2.0)))
    angle = numpy.degrees(numpy.arctan2(y, x))
    return angle, z, [numpy.linspace(-180.0, 180.0, 2 * bands + 1),
                      numpy.quantile(z, numpy.linspace(0.0, 1.0, bands + 1))]


def draw_wave(paths, options):
    """The mean through the wall on the unrolled ventricle, one panel per snapshot."""
    if len(paths) < 2:
        sys.exit("wave needs the points, then one snapshot or more")
    points = read_array(paths[0])
    snapshots = [read_array(path)[:, 0] for path in paths[1:]]
    if points.shape[1] != 3 or any(values.size != len(points) for values in snapshots):
        sys.exit(f"{paths[0]}: needs three columns, and as many rows as each snapshot has")
    labels = options.labels.split(";") if options.labels else [path.name.split(".mtx")[0] for path in paths[1:]]
    if len(labels) != len(snapshots):
        sys.exit(f"{len(labels)} labels for {len(snapshots)} snapshots")
    angle, height, edges = patches(points)
    counts = numpy.histogram2d(angle, height, edges)[0]
    fields = [numpy.histogram2d(angle, height, edges, weights=values)[0] / numpy.where(counts > 0, counts, numpy.nan)
              for values in snapshots]
    low, high = min(numpy.nanmin(field) for field in fields), max(numpy.nanmax(field) for field in fields)
    figure, axes = panels(len(snapshots), 3.4, 2.6, sharex=True, sharey=True)
    for axis, field, label in zip(axes, fields, labels):
        drawn = axis.pcolormesh(*edges, field.T, vmin=low, vmax=high, cmap="viridis", rasterized=True)
        axis.grid(visible=False)
        axis.set_xlim(-180, 180)
        axis.set_xticks([-180, -90, 0, 90, 180])
        axis.set_title(label, loc="left")
        axis.set_xlabel("around, degrees")
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel("apex to base, mm")
    figure.colorbar(drawn, ax=axes, label=options.title or "potential, mV", shrink=0.9)
    return figure


DRAW = {"wave": draw_wave, "profile": draw_profile, "residuals": draw_residuals, "bars": draw_bars}
