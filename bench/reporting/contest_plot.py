# SPDX-License-Identifier: Apache-2.0
"""The picture of a contest: warm times over ours, problem by problem."""
import math
import sys

from matplotlib.ticker import FuncFormatter, NullFormatter

from plot_common import legend_below, plain_number, plt
from reporting import contest

COLOURS = ["#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#0072B2", "#666666", "#999999"]
MARKERS = ["s", "^", "D", "v", "P", "X", "<", ">"]


def draw_contest(paths, options):
    """A row for each problem, a mark for each library's fastest verified setting; ours by `auto` is the line at 1."""
    lines = contest.summarise(contest.load(paths)[1])["measures"].get("warm", {"lines": {}})["lines"]
    known = {problem: line["cells"] for problem, line in lines.items() if "auto" in line["cells"]}
    if not known:
        sys.exit("no problem has a verified solve by tessera:auto")
    names = sorted({name for cells in known.values() for name in cells} - {"auto", "by name"})
    figure, axis = plt.subplots(figsize=(6.4, 1.4 + 0.28 * len(known)), layout="constrained")
    axis.axvline(1.0, color="#000000", linewidth=1.2, label="ours by auto")
    for index, name in enumerate(["by name", *names]):
        points = [(cells[name][0] / cells["auto"][0], row) for row, cells in enumerate(known.values()) if name in cells]
        own = name == "by name"
        axis.plot(*zip(*points), linestyle="", markersize=5, label="ours by name" if own else name,
                  marker="o" if own else MARKERS[(index - 1) % len(MARKERS)], markerfacecolor="none" if own else None,
                  color="#000000" if own else COLOURS[(index - 1) % len(COLOURS)])
    axis.set_xscale("log", base=10 if wide(axis) else 2)
    axis.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(range(len(known)), known)
    axis.set_ylim(len(known) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("warm set-up and solve over that of ours by auto")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 5)
    return figure


def wide(axis):
    """Whether the points span more than two decades."""
    values = [x for line in axis.get_lines() for x in line.get_xdata() if x > 0]
    return math.log10(max(values) / min(values)) > 2


DRAW = {"contest": draw_contest}
