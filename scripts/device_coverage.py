#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage of the device sources, src/**/*.cu, *.cuh and device_*.c, from the preset emulated-coverage after its
tests ran.

device_coverage.py [--least PERCENT] [--missed] [BUILD]
    prints a table by file, the least covered first, and the total. Exit code 1: the total is below PERCENT.
    --missed lists the lines that did not run.

A line counts if the compiler makes code of it for the emulated GPU, in any translation unit. It is covered if any of
them ran it. No line is left out: tests/emulator/test_failing_calls.c reaches what handles a failing device.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def is_device_source(path):
    """Kernels, and host code that only a device runs."""
    of_multigrid = path.stem.endswith("_device") and "multigrid" in path.parts
    driver = path.suffix == ".c" and (path.name.startswith("device_") or of_multigrid)
    return (driver or path.suffix in (".cu", ".cuh")) and path.is_relative_to(ROOT / "src")


def counts_of(notes):
    """{(file, line): times} of one translation unit."""
    # A unit that no test program ran has notes but no data: gcov says 0 for each of its lines.
    command = ["gcov", "--stdout", "--json-format", notes.name]
    found = subprocess.run(command, cwd=notes.parent, capture_output=True, text=True, check=True)
    lines = defaultdict(int)
    for text in found.stdout.splitlines():
        unit = json.loads(text)
        for one in unit["files"]:
            path = Path(os.path.normpath(Path(unit["current_working_directory"]) / one["file"]))
            if not is_device_source(path):
                continue
            for line in one["lines"]:
                lines[str(path.relative_to(ROOT)), line["line_number"]] += line["count"]
    return lines


def gather(build):
    notes = sorted(build.glob("CMakeFiles/tessera_objects.dir/**/*.gcno"))
    if not notes:
        sys.exit("%s has no .gcno files: build it with cmake --preset emulated-coverage" % build)
    if not any(build.glob("CMakeFiles/tessera_objects.dir/**/*.gcda")):
        sys.exit("%s has no .gcda files: run its tests first" % build)
    total = defaultdict(int)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(counts_of, notes):
            for place, times in lines.items():
                total[place] += times
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "emulated-coverage")
    options = parser.parse_args()
    total = gather(options.build.resolve())
    ran, missed = defaultdict(int), defaultdict(list)
    for (name, line), times in sorted(total.items()):
        ran[name] += times > 0
        if times == 0:
            missed[name].append(line)
    share = lambda name: 100.0 * ran[name] / (ran[name] + len(missed[name]))
    print("%-60s %6s %6s %7s" % ("file", "lines", "ran", "%"))
    for name in sorted(ran, key=lambda name: (share(name), name)):
        print("%-60s %6d %6d %7.1f" % (name, ran[name] + len(missed[name]), ran[name], share(name)))
        if options.missed and missed[name]:
            print("    " + " ".join(map(str, missed[name])))
    all_ran, all_lines = sum(ran.values()), len(total)
    figure = 100.0 * all_ran / all_lines
    print("device sources: %d of %d lines ran, %.1f %%" % (all_ran, all_lines, figure))
    if figure < options.least:
        print("below %.1f %%" % options.least)
        return 1
    return 0


sys.exit(main())
