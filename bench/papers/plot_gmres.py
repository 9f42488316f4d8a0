# SPDX-License-Identifier: Apache-2.0
"""Kinds of pictures for GMRES in several precisions: Figures 1 to 8 of Loe et al. (2021)."""
import re
import sys

import matplotlib.pyplot as plt

from plot_common import kernel_colours, legend_below, panels, wanted_rows

PARTS = {"product": "#0072B2", "project": "#D55E00", "subtract": "#E69F00", "norm": "#CC79A7", "precond": "#009E73",
         "refinement": "#56B4E9", "rest": "#999999"}
NAMES = {"product": "SpMV", "project": "GEMV, transposed", "subtract": "GEMV", "norm": "norm",
         "precond": "preconditioner", "refinement": "refinement", "rest": "other"}


def problem_of(row):
    if "restart" not in row:
        return row["matrix"]
    precond = "" if row["precond"] == "none" else f", {row['precond']}"
    return f"{row['matrix']}{precond}, restart {row['restart']}"


# ---- residuals over iterations: Figures 3 and 7 ----

def draw_convergence(paths, options):
    problems = {}
    for row in wanted_rows(paths, options, "relative_residual"):
        lines = problems.setdefault(problem_of(row), {})
        points = lines.setdefault(row["contestant"], ([], []))
        points[0].append(int(row["iteration"]))
        points[1].append(float(row["relative_residual"]))
    figure, axes = panels(len(problems), 5.0, 3.6)
    for axis, (problem, lines) in zip(axes, problems.items()):
        colours = kernel_colours(lines)
        for index, (name, (iterations, residuals)) in enumerate(lines.items()):
            axis.semilogy(iterations, residuals, color=colours[name], linestyle=["-", "--", "-.", ":"][index % 4],
                          linewidth=1.2, label=name)
        axis.set_title(options.title or problem, loc="left")
        axis.set_xlabel("iteration")
        axis.set_ylabel("estimated relative residual")
    legend_below(figure, axes, 4)
    return figure


# ---- time by kernels: Figures 4, 5 and 8 ----

def parts_of(row):
    parts = dict(row["part_seconds"])
    whole = row.get("profiled_seconds") or row["seconds"]["median"]
    parts["rest"] = max(0.0, whole - sum(parts.values()))
    return parts


def draw_parts(paths, options):
    problems = {}
    for row in wanted_rows(paths, options, "part_seconds", "seconds.median"):
        problems.setdefault(problem_of(row), []).append(row)
    figure, axes = panels(len(problems), 4.2, 3.4)
    for axis, (problem, rows) in zip(axes, problems.items()):
        below = [0.0] * len(rows)
        for part, shade in PARTS.items():
            heights = [parts_of(row).get(part, 0.0) for row in rows]
            axis.bar(range(len(rows)), heights, bottom=below, color=shade, width=0.7, label=NAMES[part])
            below = [base + height for base, height in zip(below, heights)]
        axis.set_xticks(range(len(rows)), [row["contestant"] for row in rows], rotation=30, ha="right")
        axis.set_title(options.title or problem, loc="left")
        axis.set_ylabel("seconds to a verified tolerance")
        axis.grid(axis="x", visible=False)
    legend_below(figure, axes, 4)
    return figure


# ---- the point of the switch: Figures 1 and 2 ----

def draw_switch(paths, options):
    problems = {}
    for row in wanted_rows(paths, options, "seconds.median"):
        problems.setdefault(problem_of(row), []).append(row)
    figure, axes = panels(len(problems), 4.8, 3.4)
    for axis, (problem, rows) in zip(axes, problems.items()):
        at = {row["contestant"]: re.fullmatch(r"fd-(\d+)", row["contestant"]) for row in rows}
        points = sorted((int(at[row["contestant"]][1]), row["seconds"]["median"]) for row in rows
                        if at[row["contestant"]])
        if not points:
            sys.exit(f"{problem}: no contestant fd-N")
        axis.plot(*zip(*points), marker="o", color="#0072B2", label="FP32, then FP64")
        for row, dashes in zip((row for row in rows if not at[row["contestant"]]), ["-", "--", "-.", ":"]):
            axis.axhline(row["seconds"]["median"], color="#000000", linestyle=dashes, linewidth=1.0,
                         label=row["contestant"])
        axis.set_ylim(bottom=0.0)
        axis.set_title(options.title or problem, loc="left")
        axis.set_xlabel("iteration of the switch")
        axis.set_ylabel("seconds to a verified tolerance")
    legend_below(figure, axes, 4)
    return figure


DRAW = {"convergence": draw_convergence, "parts": draw_parts, "switch": draw_switch}
