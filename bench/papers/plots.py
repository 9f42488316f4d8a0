# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the benchmarks report: PNG and SVG, the same bytes for the same input.

    report.py plot roofline  roofline.json -o out/roofline     GFLOP/s over operations per value (study roofline)
    report.py plot error     accuracy.json -o out/error        mean relative error over size (study accuracy)
    report.py plot speed     dense.json    -o out/speed        GFLOP/s over size (bench_dense)
    report.py plot speedup   formats.json  -o out/speedup      bars per matrix
    report.py plot bytes     formats.json  -o out/bytes        time over bytes, both over the baseline's (study formats)
    report.py plot profile   formats.json  -o out/profile      share of matrices within a factor of the fastest
    report.py plot residuals split.json    -o out/residuals    relative residuals over matrices (study split)
    report.py plot bars      jacobi.json   -o out/bars         speed-ups per matrix and contestant
    report.py plot convergence fig3.csv    -o out/convergence  residuals (--histories, or solve --history)
    report.py plot parts     gmres.json    -o out/parts        time by kernels (--study gmres, --profile)
    report.py plot switch    gmres.json    -o out/switch       time over the iteration of the switch to fp64 (fd-N)
    report.py plot contest   host.jsonl    -o out/contest     warm times of other libraries over ours (contest.py)
    report.py plot wave      points.mtx x0.mtx x1.mtx -o out/wave   snapshots of the ventricle, unrolled

Colour says in what precision values are stored; line style in what they are computed: solid fp64, dashed fp32, dotted
what we are compared with. Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import pathlib
import re
import sys
import tempfile

import plot_gmres
import plot_mixed
from plot_common import (COLOURS, MARKERS, STYLE, by_contestant, by_precision, colour, groups, kernel_colours,
                         legend_below, matrices_of, name_of, panels, plain_number, plt, read_rows, save, value_at,
                         wanted_rows)
from reporting import contest_plot
from reporting.records import matches
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# Floating-point operations by size; elsewhere a row's bandwidth is drawn.
FLOPS = {
    "dot": lambda n: 2 * n, "nrm2": lambda n: 2 * n, "axpy": lambda n: 2 * n, "scal": lambda n: n,
    "gemv": lambda n: 2 * n * n, "trsv": lambda n: n * n,
}


# ---- rooflines: the paper's Figures 3 to 5 ----

def bytes_of(storage):
    """8 of fp64, 1 of e4m3: names say it. None of what is no precision."""
    named = re.fullmatch(r"(?:fp|bf)(\d+)", storage)
    parts = re.fullmatch(r"e(\d+)m(\d+)", storage)
    if parts:
        return (1 + int(parts[1]) + int(parts[2])) // 8
    return int(named[1]) // 8 if named else None


def draw_ceilings(axis, head, storages, low, high):
    """Dashed: what bandwidth and arithmetic allow, as measured in the same run."""
    dashed = {"color": "#b0b0b0", "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
    peaks = {name: head.get("peak", {}).get(f"{name}_gflops", 0.0) for name in ("fp64", "fp32")}
    for name, peak in peaks.items():
        if peak > 0:
            axis.plot([low, high], [peak, peak], **dashed)
            axis.annotate(f"{name} peak {peak:,.0f}", (low, peak), xytext=(2, 3), textcoords="offset points",
                          fontsize=7.5, color="#606060")
    read = head.get("bandwidth", {}).get("read_gbs", 0.0)
    for width in sorted({bytes_of(storage) for storage in storages} - {None}):
        if read > 0 and max(peaks.values()) > 0:
            end = min(high, max(peaks.values()) * width / read)
            axis.plot([low, end], [read / width * low, read / width * end], **dashed)


def draw_roofline(paths, options):
    figure, axes = panels(len(paths), 5.6, 4.6)
    for axis, path in zip(axes, paths):
        rows, head = read_rows(path)
        rows = [row for row in rows if row.get("gflops") is not None]
        lines = groups(rows, "precision", "arithmetic", "accessor")
        intensities = [float(row["ops_per_value"]) for row in rows]
        low, high = min(intensities), max(intensities)
        draw_ceilings(axis, head, {key[0] for key in lines}, low, high)
        for (storage, arithmetic, accessor), line in sorted(lines.items(), key=lambda item: by_precision(item[0])):
            plain = accessor.lower() in ("false", "0")
            points = sorted((float(row["ops_per_value"]), float(row["gflops"])) for row in line)
            axis.plot(*zip(*points), color=colour(storage), linestyle="-" if arithmetic == "fp64" else "--",
                      marker=MARKERS.get(storage, "o"), markersize=8 if plain else 3.5,
                      markerfacecolor="none" if plain else colour(storage), linewidth=0.8 if plain else 1.6,
                      label=f"{storage}, plain" if plain else f"accessor<{arithmetic}, {storage}>")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_locator(LogLocator(base=4, numticks=20))
        axis.xaxis.set_major_formatter(FuncFormatter(plain_number))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_major_formatter(FuncFormatter(plain_number))
        axis.set_xlabel("operations per value")
        axis.set_title(options.title or head.get("device", path.stem), loc="left")
    axes[0].set_ylabel("GFLOP/s")
    legend_below(figure, axes, 3 * len(paths))
    return figure


# ---- errors: Figures 7, 9, 11, 14 and A1 ----

def label_of(storage, arithmetic, library):
    """inv-fp32: FP64 arithmetic, diagonal blocks inverted in FP32."""
    return name_of(storage, arithmetic) if library in ("", "tessera") else f"{library}, {storage}"


def line_style(arithmetic, library):
    return ":" if library not in ("", "tessera") else "-" if arithmetic == "fp64" else "--"


def draw_error_by_matrix(rows, options):
    """One row of points per matrix: Figure 14."""
    matrices = list(dict.fromkeys(row["matrix"] for row in rows))
    figure, axis = plt.subplots(figsize=(6.4, 1.4 + 0.24 * len(matrices)), layout="constrained")
    for (storage, arithmetic), line in sorted(groups(rows, "storage", "arithmetic").items(),
                                              key=lambda item: by_precision(item[0])):
        points = [(float(row["error"]), matrices.index(row["matrix"])) for row in line if positive(row)]
        if points:
            solid = arithmetic == "fp64"
            axis.plot(*zip(*points), linestyle="none", color=colour(storage), marker=MARKERS.get(storage, "o"),
                      markerfacecolor=colour(storage) if solid else "none", label=name_of(storage, arithmetic))
    axis.set_xscale("log")
    axis.set_yticks(range(len(matrices)), matrices, fontsize=7.5)
    axis.set_ylim(len(matrices) - 0.5, -0.5)
    axis.set_xlabel(f"{options.statistic} relative error")
    legend_below(figure, [axis])
    return figure


def errors_of(row):
    """A record's errors, one row each; rows of a CSV are that already."""
    if "error" in row:
        return [row]
    return [{"operation": row["operation"], "matrix": row["of_matrix"], "distribution": row["distribution"],
             "n": row["n"], "storage": row["precision"], "arithmetic": row["arithmetic"], "library": row["library"],
             "reference": reference, "statistic": statistic, "error": row[reference][statistic]}
            for reference in ("unrounded", "stored") for statistic in ("mean", "median")]


def positive(row):
    return row["error"] not in (None, "") and float(row["error"]) > 0


def draw_error(paths, options):
    rows = [error for path in paths for row in read_rows(path)[0] for error in errors_of(row) if keep(error, options)]
    if not rows:
        sys.exit("no rows left to draw")
    if any(row.get("matrix") for row in rows):
        return draw_error_by_matrix(rows, options)
    parts = groups(rows, "operation", "distribution", "reference")
    references = {key[2] for key in parts}
    figure, axes = panels(len(parts), sharey=True)
    for axis, ((operation, distribution, reference), part) in zip(axes, parts.items()):
        lines = groups(part, "storage", "arithmetic", "library")
        for (storage, arithmetic, library), line in sorted(lines.items(), key=lambda item: by_precision(item[0])):
            points = sorted((float(row["n"]), float(row["error"])) for row in line if positive(row))
            if not points:
                continue
            axis.plot(*zip(*points), color=colour(storage), marker=MARKERS.get(storage, "o"),
                      linestyle=line_style(arithmetic, library), label=label_of(storage, arithmetic, library))
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(numticks=8))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("n")
        title = ", ".join(part for part in (operation, distribution) if part)
        axis.set_title(title + (f", against {reference}" if len(references) > 1 and reference else ""), loc="left")
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel(f"{options.statistic} relative error")
    legend_below(figure, axes)
    return figure


def keep(row, options):
    if options.distribution and row.get("distribution") != options.distribution:
        return False
    if options.operation and row.get("operation") not in options.operation.split(","):
        return False
    if options.reference and row.get("reference") != options.reference:
        return False
    return row.get("statistic", options.statistic) == options.statistic


# ---- speed over size: Figures 8, 10 and 12 ----

def rate(row, seconds):
    """(value, unit): GFLOP/s where the operation's count is known, else GB/s."""
    count = FLOPS.get(row["operation"].split("_")[0].split("-")[0])
    if count:
        return 1e-9 * count(float(row["n"])) / seconds, "GFLOP/s"
    return 1e-9 * float(row["bytes"]) / seconds, "GB/s"


def draw_speed(paths, options):
    rows = [row for path in paths for row in read_rows(path)[0]]
    rows = [row for row in rows if not options.operation or row["operation"] in options.operation.split(",")]
    parts = groups(rows, "operation")
    if not parts:
        sys.exit("no rows left to draw")
    figure, axes = panels(len(parts))
    for axis, ((operation,), part) in zip(axes, parts.items()):
        lines = groups(part, "precision", "arithmetic", "library")
        for (storage, arithmetic, library), line in sorted(lines.items(), key=lambda item: by_precision(item[0])):
            points = sorted((float(row["n"]), rate(row, value_at(row, "seconds.median"))[0]) for row in line)
            ours = library == "tessera"
            axis.plot(*zip(*points), color=colour(storage), marker=MARKERS.get(storage, "o") if ours else None,
                      linestyle=line_style(arithmetic, library), linewidth=1.6 if ours else 1.3,
                      label=label_of(storage, arithmetic, library))
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(FuncFormatter(plain_number))
        axis.set_xlabel("n")
        axis.set_ylabel(rate(part[0], 1.0)[1])
        axis.set_title(operation, loc="left")
    legend_below(figure, axes)
    return figure


# ---- speed-up per matrix: Figure 13 ----

def speedups(rows, baseline, contestants):
    """{contestant: {matrix: time of the baseline over its own}}, matrices in the order of the report."""
    seconds = by_contestant(rows, "seconds.median")
    baseline = baseline or next(iter(seconds))
    if baseline not in seconds:
        sys.exit(f"no contestant '{baseline}'; there are: {'; '.join(seconds)}")
    return baseline, {name: {matrix: seconds[baseline][matrix] / time for matrix, time in times.items()
                             if matrix in seconds[baseline]}
                      for name, times in seconds.items() if name != baseline and matches(name, contestants)}


def draw_speedup(paths, options):
    rows = [row for path in paths for row in read_rows(path)[0] if row.get("seconds")]
    baseline, series = speedups(rows, options.baseline, options.contestant)
    matrices = [matrix for matrix in matrices_of(rows) if any(matrix in points for points in series.values())]
    if not matrices:
        sys.exit("no rows left to draw")
    thick = 0.8 / len(series)
    figure, axis = plt.subplots(figsize=(6.4, 1.4 + len(matrices) * max(0.24, 0.13 * len(series))),
                                layout="constrained")
    colours = kernel_colours(series)
    for index, (name, points) in enumerate(series.items()):
        place = [matrices.index(matrix) + (index - (len(series) - 1) / 2) * thick for matrix in points]
        axis.barh(place, list(points.values()), height=0.92 * thick, color=colours[name], label=name)
    axis.axvline(1.0, color="#404040", linewidth=1.0)
    axis.set_yticks(range(len(matrices)), matrices)
    axis.set_ylim(len(matrices) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(f"speed-up over {baseline}")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 4)
    return figure


# ---- time over bytes ----

FORMAT_MARKERS = ["o", "s", "^", "D", "v", "P"]
SLOWEST_DRAWN = 4.0


def draw_bytes(paths, options):
    """A point for each matrix and contestant. On the diagonal fewer bytes become as much less time. What takes longer
    than SLOWEST_DRAWN lies on the upper edge."""
    rows = wanted_rows(paths, options, "bytes", "seconds.median")
    base = options.baseline or "csr-fp64"
    every = [row for path in paths for row in read_rows(path)[0] if row.get("seconds")]
    ours = {row["matrix"]: row for row in every if row["contestant"] == base}
    if not ours:
        sys.exit(f"no row of the baseline {base}")
    figure, axis = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
    formats, ends = {}, [1.0]
    for (name, storage), line in sorted(groups(rows, "contestant", "precision").items()):
        points = [(row["bytes"] / ours[row["matrix"]]["bytes"],
                   min(row["seconds"]["median"] / ours[row["matrix"]]["seconds"]["median"], SLOWEST_DRAWN))
                  for row in line if row["matrix"] in ours]
        if name == base or not points:
            continue
        kind = name.split("-")[0]
        marker = FORMAT_MARKERS[formats.setdefault(kind, len(formats)) % len(FORMAT_MARKERS)]
        axis.plot(*zip(*points), linestyle="", marker=marker, color=colour(storage), markersize=4.5, alpha=0.8,
                  label=name)
        ends += [number for point in points for number in point]
    low, high = min(ends) / 1.1, max(ends) * 1.1
    axis.plot([low, high], [low, high], color="#404040", linewidth=1.0)
    axis.axhline(1.0, color="#b0b0b0", linewidth=0.9, linestyle=(0, (4, 3)))
    for scale in (axis.set_xscale, axis.set_yscale):
        scale("log", base=2)
    for numbers in (axis.xaxis, axis.yaxis):
        numbers.set_major_formatter(FuncFormatter(plain_number))
    axis.set_xlabel(f"bytes over those of {base}")
    axis.set_ylabel(f"time over that of {base}")
    axis.set_title(options.title or "", loc="left")
    legend_below(figure, [axis], 4)
    return figure


DRAW = {"roofline": draw_roofline, "error": draw_error, "speed": draw_speed, "speedup": draw_speedup,
        "bytes": draw_bytes,
        **plot_mixed.DRAW, **plot_gmres.DRAW, **contest_plot.DRAW}


# ---- self-test ----

def self_test(folder):
    """Draws every kind from small samples, twice: something is drawn, and the same bytes both times."""
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        for kind in DRAW:
            samples = [str(path) for path in sorted(pathlib.Path(folder).glob(f"{kind}.*"))]
            runs = []
            for attempt in ("first", "second"):
                options = parse([kind, *samples, "-o", f"{work}/{attempt}/{kind}"])
                runs.append([path.read_bytes() for path in draw(options)])
            good = runs[0] == runs[1] and runs[0][0].startswith(b"\x89PNG") and b"</svg>" in runs[0][1]
            good = good and all(len(data) > 5000 for data in runs[0])
            failures += not good
            print(f"{kind}: {'ok' if good else 'FAILED: empty, or not the same twice'}")
    print(f"{len(DRAW) - failures} passed, {failures} failed")
    return 1 if failures else 0


def draw(options):
    with plt.rc_context(STYLE):
        figure = DRAW[options.kind]([pathlib.Path(path) for path in options.input], options)
        return save(figure, pathlib.Path(options.output))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="report.py plot", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=DRAW)
    parser.add_argument("input", nargs="+",
                        help="JSON or CSV of a benchmark; for roofline one panel each; wave: points, then snapshots")
    parser.add_argument("-o", "--output", required=True, help="file name without .png and .svg")
    parser.add_argument("--title", help="default: the device's name (roofline)")
    parser.add_argument("--operation", help="error, speed: only these, with commas")
    parser.add_argument("--distribution", help="error: only this one")
    parser.add_argument("--statistic", default="mean", help="error: which one (default: mean)")
    parser.add_argument("--reference", help="error: only against this one")
    parser.add_argument("--baseline", help="speedup, bars: the contestant that counts as 1; residuals: the one that "
                                           "sorts (default: the first; bars: each one's own)")
    parser.add_argument("--contestant", help="names and patterns, with semicolons (default: all)")
    parser.add_argument("--labels", help="wave: titles of the snapshots, with semicolons (default: their files' names)")
    return parser.parse_args(arguments)


def main(arguments):
    if arguments[:1] == ["--self-test"]:
        return self_test(arguments[1])
    for path in draw(parse(arguments)):
        print(path)
    return 0
