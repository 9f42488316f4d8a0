#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables, means and goals of what the benchmarks wrote with --json; pictures of it.

    report.py formats.json                               a table, means over matrices, goals
    report.py goals.json --contestant 'csr;auto;cu-*'    only these lines
    report.py goals.json --json summary.json             means and goals as JSON too
    report.py plot speedup formats.json -o out/speedup   a picture: see report.py plot --help
    report.py readme FOLDER/*.json                       the README's table, from what bench/readme.sh wrote
    report.py contest host.jsonl                         libraries beside each other, from what contest.py wrote

Goals are read from bench/goals.json and bench/papers/goals.json. The exit code is 1 where a run reports a failure or a
false convergence; goals that are not reached do not change it.
"""
import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
FOLDER = pathlib.Path(__file__).resolve().parent
GOALS = (FOLDER / "goals.json", FOLDER / "papers" / "goals.json")
sys.path[:0] = [str(FOLDER), str(FOLDER / "papers")]

import paper_tables
from reporting import contest, goals, readme, records, tables


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="+", help="JSON of a benchmark")
    parser.add_argument("--contestant", help="names and patterns, with semicolons (default: all)")
    parser.add_argument("--matrix", help="names and patterns, with semicolons (default: all)")
    parser.add_argument("--goals", help="another file of goals")
    parser.add_argument("--json", help="write means and goals to this file")
    parser.add_argument("--brief", action="store_true", help="means and goals, without the table of all records")
    return parser.parse_args(arguments)


def main(arguments):
    if arguments[:1] == ["plot"]:
        import plots  # needs matplotlib
        return plots.main(arguments[1:])
    if arguments[:1] == ["readme"]:
        return readme.main(arguments[1:])
    if arguments[:1] == ["contest"]:
        return contest.main(arguments[1:])
    options = parse(arguments)
    wanted = goals.load(*([options.goals] if options.goals else GOALS))
    summary, bad = [], False
    for path in options.input:
        report = records.load(path)
        if report.study == "roofline":
            paper_tables.add_balance(report)
        report.keep(options.contestant, options.matrix)
        tables.print_head(report, path)
        if not options.brief:
            tables.print_records(report)
        tables.print_special(report)
        means = tables.print_means(report)
        reached = goals.report(report, wanted)
        bad = tables.print_failures(report) or bad
        summary.append({"input": str(path), "study": report.study, "means": means, "goals": reached})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:  # as of `| head`
        sys.exit(141)
