# SPDX-License-Identifier: Apache-2.0
"""Tables of the records of bench/contest/contest.py: libraries on the same systems.

    report.py contest host.jsonl [MORE.jsonl..] [--json FILE]     Markdown; means, counts and the fastest as JSON too

Only solves count whose residual, computed by the contest, meets the tolerance. Of a library its fastest setting counts
for each problem and measure; of ours also `auto` alone. Ratios are the fastest peer's over ours: above 1 ours is
faster. A later record of the same contestant and problem takes the place of an earlier one.
"""
import argparse
import json
import math
import pathlib

from reporting.records import divide, geometric

OURS, AUTO = "tessera", "tessera:auto"
MEASURES = {"cold": "Cold: the first set-up and solve of a process", "warm": "Warm: the median of later ones",
            "joules": "Energy of a warm set-up and solve"}


def load(paths):
    """(heads, records)."""
    heads, records = [], {}
    for path in paths:
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "program" in entry:
                heads.append(entry)
            else:
                records[problem_of(entry), entry.get("contestant")] = entry
    return heads, list(records.values())


def problem_of(record):
    """What makes solves comparable."""
    return (record["problem"], record.get("rhs", 1), record.get("rtol"), record.get("device"))


def library_of(record):
    return record["contestant"].split(":", 1)[0]


def value_of(record, measure):
    """Seconds or joules of a verified solve; NaN of any other."""
    value = record.get(measure) if record.get("solved") else None
    if isinstance(value, list):
        value = sum(value)
    return float(value) if isinstance(value, (int, float)) else math.nan


def fastest(records, measure):
    """(value, record) of the verified solve that takes least; (NaN, None) where there is none."""
    known = [(value_of(record, measure), k) for k, record in enumerate(records)]
    known = [pair for pair in known if math.isfinite(pair[0])]
    return (min(known)[0], records[min(known)[1]]) if known else (math.nan, None)


def rivals(records):
    """Ours by `auto`, ours by name, and those of each other library."""
    groups = {"auto": [], "by name": []}
    for record in records:
        own = "auto" if record["contestant"] == AUTO else "by name" if library_of(record) == OURS else None
        groups.setdefault(own or library_of(record), []).append(record)
    return groups


def line_of(records, measure):
    """Of one problem: (value, setting) of each rival, and the ratios of the fastest peer to ours."""
    found = {name: fastest(own, measure) for name, own in rivals(records).items()}
    cells = {name: (value, record["contestant"].split(":", 1)[1]) for name, (value, record) in found.items() if record}
    peers = [(value, record) for name, (value, record) in found.items() if record and name not in ("auto", "by name")]
    theirs, peer = min(peers, key=lambda pair: pair[0], default=(math.nan, None))
    ours = {"auto": found["auto"][0], "best": fastest([r for r in records if library_of(r) == OURS], measure)[0]}
    first = {name: math.isfinite(own) and not theirs < own for name, own in ours.items()}
    return {"cells": cells, "peer": peer and peer["contestant"], "first": first,
            "ratios": {name: divide(theirs, own) for name, own in ours.items()}}


def summary_of(lines):
    """Over {problem: line}: how often ours is the fastest, the mean ratio and the worst one."""
    summary = {"solved": sum(bool(line["cells"]) for line in lines.values())}
    for name in ("auto", "best"):
        ratios = [(line["ratios"][name], problem) for problem, line in lines.items()
                  if math.isfinite(line["ratios"][name])]
        worst = min(ratios, default=(math.nan, None))
        summary[name] = {"first": sum(line["first"][name] for line in lines.values()), "both": len(ratios),
                         "mean": geometric([ratio for ratio, _ in ratios]), "worst": worst[0],
                         "worst_problem": worst[1], "worst_peer": worst[1] and lines[worst[1]]["peer"]}
    return summary


def tally(records):
    """{library: how its runs ended}."""
    counts = {}
    for record in records:
        own = counts.setdefault(library_of(record), dict.fromkeys(("runs", "solved", "false", "short", "failed"), 0))
        own["runs"] += 1
        own["failed" if "failure" in record else "solved" if record["solved"] else
            "false" if record["false_claim"] else "short"] += 1
    return counts


def who_solves(problems):
    """Problems that nobody, only peers, and only ours solve."""
    found = {"nobody": [], "only peers": [], "only ours": []}
    for problem, records in problems.items():
        solved = {library_of(record) == OURS for record in records if record.get("solved")}
        kind = {(): "nobody", (False,): "only peers", (True,): "only ours"}.get(tuple(sorted(solved)))
        if kind:
            found[kind].append(problem)
    return found


def summarise(records):
    """All that the tables print."""
    problems = {}
    for record in records:
        if "skipped" not in record:
            problems.setdefault(problem_of(record), []).append(record)
    names = names_of(problems)
    problems = {names[key]: own for key, own in problems.items()}
    measures = {measure: {problem: line_of(own, measure) for problem, own in problems.items()} for measure in MEASURES}
    measures = {measure: lines for measure, lines in measures.items() if any(line["cells"] for line in lines.values())}
    return {"problems": {problem: {key: next((r[key] for r in own if key in r), None) for key in ("n", "nnz", "kind")}
                         for problem, own in problems.items()},
            "measures": {measure: {"lines": lines, **summary_of(lines)} for measure, lines in measures.items()},
            "libraries": tally([record for own in problems.values() for record in own]),
            "solved by": who_solves(problems),
            "skipped": {record["problem"]: record["skipped"] for record in records if "skipped" in record}}


def names_of(keys):
    """{problem: its name}, with what tells apart problems of one name."""
    differs = [len({key[k] for key in keys}) > 1 for k in range(4)]
    names = {}
    for key in keys:
        extra = [f"{key[1]} right-hand sides"] if differs[1] and key[1] != 1 else []
        extra += [f"rtol {key[2]:g}"] if differs[2] and key[2] else []
        extra += [str(key[3])] if differs[3] else []
        names[key] = ", ".join([key[0], *extra])
    return names


# ---- Markdown ----

def text_of(value, measure):
    if not math.isfinite(value):
        return "-"
    return f"{value:.3g} J" if measure == "joules" else f"{1e3 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def print_table(titles, rows):
    print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


def print_lines(measure, lines):
    """A problem a row, a rival a column, the fastest in bold."""
    names = list(dict.fromkeys(name for line in lines.values() for name in line["cells"]))
    columns = [name for name in ("auto", "by name") if name in names]
    columns += sorted(name for name in names if name not in columns)
    print(f"\n### {MEASURES[measure]}\n")
    rows = []
    for problem, line in lines.items():
        cells = line["cells"]
        least = min((value for value, _ in cells.values()), default=math.nan)
        texts = [f"{text_of(cells[name][0], measure)} {cells[name][1]}" if name in cells else "-" for name in columns]
        texts = [text.removesuffix(" auto") if name == "auto" else text for name, text in zip(columns, texts)]
        rows.append([problem] + [f"**{text}**" if name in cells and cells[name][0] == least else text
                                 for name, text in zip(columns, texts)])
    print_table(["problem"] + [f"ours {name}" if name in ("auto", "by name") else name for name in columns], rows)


def print_summary(measures):
    print("\n### Ours against the fastest peer\n")
    rows = []
    for measure, found in measures.items():
        for name, title in (("auto", "`auto`"), ("best", "the best of ours")):
            own = found[name]
            worst = f"{own['worst']:.3g} {own['worst_problem']}, {own['worst_peer']}" if own["both"] else "-"
            mean = f"{own['mean']:.3g}" if own["both"] else "-"
            rows.append([measure, title, f"{own['first']} of {found['solved']}", mean, own["both"], worst])
    print_table(["measure", "ours", "fastest", "mean ratio", "of problems", "worst ratio"], rows)
    print("\nRatios are the fastest peer's over ours, above 1 ours is faster; means are geometric, over problems that"
          "\nboth sides solve. Only solves count whose residual meets the tolerance.")


def print_tally(libraries):
    print("\n### How the runs ended\n")
    print_table(["library", "runs", "verified", "false claims", "not reached", "failed"],
                [[name, *own.values()] for name, own in sorted(libraries.items())])
    print("\nA false claim says that the tolerance is met where the residual does not meet it. Complete factors are"
          "\ntold no tolerance: where theirs is above it, they count as not reached. A failure is an error, a crash,"
          "\nor the limit of time.")


def main(arguments):
    parser = argparse.ArgumentParser(prog="report.py contest", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="+", help="what contest.py wrote with --json")
    parser.add_argument("--json", help="write all numbers to this file")
    options = parser.parse_args(arguments)
    try:
        heads, records = load(options.input)
    except (OSError, ValueError, TypeError, KeyError) as error:
        parser.error(f"{', '.join(options.input)}: no records of contest.py: {error}")
    if not records:
        parser.error(f"{', '.join(options.input)}: no records")
    summary = summarise(records)
    for head in heads:
        print(f"- {head['program']}, commit {head['commit']}, {head['date']}, {head['hardware']}, {head['device']}"
              + (f", {head['threads']} threads" if "threads" in head else ""))
    versions = sorted({record["version"] for record in records if record.get("version")})
    print("- " + ", ".join(versions))
    print_summary(summary["measures"])
    for measure, found in summary["measures"].items():
        print_lines(measure, found["lines"])
    print_tally(summary["libraries"])
    for kind, names in summary["solved by"].items():
        if names:
            print(f"\nSolved by {kind}: " + ", ".join(names) + ".")
    for name, reason in summary["skipped"].items():
        print(f"\nSkipped: {name}: {reason}")
    if options.json:
        plain = json.loads(json.dumps(summary), parse_constant=lambda _: None)  # JSON has no NaN
        pathlib.Path(options.json).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0
