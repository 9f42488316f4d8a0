# SPDX-License-Identifier: Apache-2.0
"""What the kinds of pictures share: style, reports, names, panels, legends."""
import csv
import itertools
import json
import math
import sys

from reporting.records import matches

try:
    import matplotlib
except ImportError:
    sys.exit("report.py plot needs matplotlib (Debian: apt-get install python3-matplotlib, then /usr/bin/python3)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Okabe and Ito's colours: told apart by colour-blind readers and, by lightness, in print.
COLOURS = {"fp64": "#000000", "fp32": "#0072B2", "fp16": "#009E73", "bf16": "#56B4E9", "e4m3": "#D55E00",
           "e5m2": "#CC79A7"}
OTHERS = ["#E69F00", "#666666", "#999999"]
MARKERS = {"fp64": "o", "fp32": "s", "fp16": "^", "bf16": "v", "e4m3": "D", "e5m2": "P"}
ORDER = list(COLOURS)
STYLE = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "legend.fontsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.linewidth": 1.6, "lines.markersize": 4.5,
    "legend.frameon": False, "svg.hashsalt": "tessera", "figure.dpi": 100, "savefig.dpi": 160,
}


def colour(storage, index=0):
    return COLOURS.get(storage, OTHERS[index % len(OTHERS)])


def by_precision(key):
    """Sorts (storage, arithmetic): wide storage first, fp64 arithmetic before fp32."""
    storage, arithmetic = key[:2]
    return (ORDER.index(storage) if storage in ORDER else len(ORDER), arithmetic, *key[2:])


def name_of(storage, arithmetic):
    return storage if storage == arithmetic else f"{arithmetic} on {storage}"


def plain_number(value, _=None):
    """Axis labels: 0.25, 16, 1,024; powers of ten from a million on."""
    if value <= 0:
        return "0" if value == 0 else ""
    if value >= 1e6 or value < 1e-3:
        return f"$10^{{{math.log10(value):.0f}}}$"
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def read_rows(path):
    """Rows of a report (JSON) or table (CSV, also of solve --history), and the report's head."""
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            # a history of the tool has neither contestant nor matrix
            return [{"contestant": path.stem, "matrix": "solve", **row} for row in rows], {}
    report = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in report["results"] if not row.get("refused")], report


def wanted_rows(paths, options, *keys):
    """Rows of all reports that have the keys (seconds.median: a key within another), of contestants that are wanted."""
    rows = [row for path in paths for row in read_rows(path)[0]]
    rows = [row for row in rows if all(value_at(row, key) is not None for key in keys)
            and matches(row["contestant"], options.contestant)]
    if not rows:
        sys.exit(f"no row has {', '.join(keys)}")
    return rows


def value_at(row, key):
    """The value at a path such as seconds.median; None where there is none, or an empty one."""
    for word in key.split("."):
        row = row.get(word) if isinstance(row, dict) else None
    return None if row in ("", {}) else row


def by_contestant(rows, key):
    """{contestant: {matrix: value}}, in the order of the report."""
    found = {}
    for row in rows:
        found.setdefault(row["contestant"], {})[row["matrix"]] = float(value_at(row, key))
    return found


def matrices_of(rows):
    return list(dict.fromkeys(row["matrix"] for row in rows))


def groups(rows, *keys):
    found = {}
    for row in rows:
        found.setdefault(tuple(str(row.get(key, "")) for key in keys), []).append(row)
    return found


def panels(count, width=4.0, height=3.3, **sharing):
    """Axes in rows of up to three, or of two where there are four."""
    columns = 2 if count == 4 else min(count, 3)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns + 0.4, height * rows), squeeze=False,
                                layout="constrained", **sharing)
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.remove()
    return figure, flat[:count]


def legend_below(figure, axes, columns=6):
    """One legend for all panels, each entry once."""
    entries = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0),
                  ncols=min(len(entries), columns), handlelength=2.6, columnspacing=1.6)


def save(figure, out):
    out.parent.mkdir(parents=True, exist_ok=True)
    png, svg = out.with_name(out.name + ".png"), out.with_name(out.name + ".svg")
    figure.savefig(png, bbox_inches="tight", metadata={"Software": None})
    figure.savefig(svg, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return [png, svg]


def kernel_colours(names, others=(OTHERS[0], "#F0E442", *OTHERS[1:], *COLOURS.values())):
    """The colour of the precision in a name; one without, or a second one of a precision, gets one of `others`."""
    chosen, spare = {}, itertools.cycle(others)
    for name in names:
        own = next((COLOURS[p] for p in reversed(ORDER) if p in name), None)
        free = len(chosen) < len(others)  # then colours come twice
        chosen[name] = own if own and own not in chosen.values() else next(
            c for c in spare if not free or c not in chosen.values())
    return chosen
