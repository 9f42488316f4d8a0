# SPDX-License-Identifier: Apache-2.0
"""Goals: a measure over matrices, its mean or worst case, and whether it is where it should be (bench/goals.json)."""
import json
import math
import pathlib

from reporting.records import geometric, matches, measure, median, number

STATISTICS = {"geometric": geometric, "arithmetic": lambda values: sum(values) / len(values), "median": median}


def load(*paths):
    """Goals with their measures in place of the measures' names; all files share their measures."""
    files = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths]
    measures = {name: measure_ for file in files for name, measure_ in file["measures"].items()}
    goals = [goal for file in files for goal in flatten({"goals": file["goals"]}, {"where": {}})]
    for goal in goals:
        goal.setdefault("text", goal.get("measure"))
        if "measure" in goal:
            goal["measure"] = measures[goal["measure"]]
    return goals


def flatten(group, above):
    """The goals of a group, which have what the group says of all of them."""
    own = {**above, **group, "where": {**above["where"], **group.get("where", {})}}
    members = own.pop("goals", None)
    return [own] if members is None else [goal for member in members for goal in flatten(member, own)]


def fits(record, key, wanted):
    value = record.get(key)
    if isinstance(wanted, str) and isinstance(value, str):
        return matches(value, wanted)
    return value == wanted


def concerns(goal, record):
    return (all(fits(record, key, wanted) for key, wanted in goal.get("where", {}).items())
            and all(number(record, key) <= most for key, most in goal.get("most", {}).items())
            and all(number(record, key) >= least for key, least in goal.get("least", {}).items())
            and (record["ours"] or goal.get("theirs", False)) and not record["refused"])


def best(values, at_most):
    known = [value for value in values if math.isfinite(value)]
    return (min(known) if at_most else max(known)) if known else math.nan


def values_of(report, goal, patterns):
    """[(matrix, value)] of contestants that match, the best of each problem; and how many problems have none."""
    problems = {}
    for record in report.records:
        if concerns(goal, record) and matches(record["contestant"], patterns):
            value = measure(report, record, goal["measure"])
            problems.setdefault((record["matrix"], report.problem_of(record)), []).append(value)
    pairs = [(matrix, best(values, "at_most" in goal)) for (matrix, _), values in problems.items()]
    known = [(matrix, value) for matrix, value in pairs if math.isfinite(value) and value > 0]
    return known, len(pairs) - len(known)


def judge(report, goal, label, patterns):
    """One line of the report, or None where no matrix has a value."""
    pairs, without = values_of(report, goal, patterns)
    if not pairs:
        return None
    at_most = "at_most" in goal
    values = [value for _, value in pairs]
    worst = (max if at_most else min)(pairs, key=lambda pair: pair[1])
    value = worst[1] if goal["statistic"] == "worst" else STATISTICS[goal["statistic"]](values)
    bound = goal.get("at_most", goal.get("at_least"))
    reached = None if bound is None else value <= bound if at_most else value >= bound
    return {"goal": goal["name"], "of": label, "measure": goal["text"], "statistic": goal["statistic"],
            "sense": "at most" if at_most else "at least", "bound": bound, "known": goal.get("known"), "value": value,
            "geometric_mean": geometric(values), "worst_matrix": worst[0], "matrices": len(pairs), "without": without,
            "reached": reached}


def count(report, goal, label, patterns):
    """What must not happen at all: how often it did."""
    total = happened = 0
    for record in report.records:
        if not concerns(goal, record) or not matches(record["contestant"], patterns):
            continue
        if "count" in goal:
            happened += record.get(goal["count"]) or 0
            total += record.get(goal["of_total"]) or 0
        else:
            value = measure(report, record, goal["measure"])
            total += math.isfinite(value)
            happened += value == 1.0
    if total == 0:
        return None
    return {"goal": goal["name"], "of": label, "measure": goal["text"], "statistic": "count", "sense": "at most",
            "bound": 0, "value": happened, "total": total, "reached": happened == 0}


def lines_of(report, goal):
    """{label: patterns}: one line each, or one for each contestant that matches."""
    if "each" not in goal:
        return goal.get("lines", {"": "*"})
    names = dict.fromkeys(record["contestant"] for record in report.records if concerns(goal, record))
    return {name: name for name in names if matches(name, goal["each"]) and not matches(name, goal.get("but", "-"))}


def print_line(line):
    name = f"{line['goal']}: {line['of']}" if line["of"] else line["goal"]
    verdict = {True: "reached", False: "NOT REACHED", None: ""}[line["reached"]]
    bound = f"known {line['known']:.4g}" if line.get("known") else f"{line['sense']} {line['bound']:.4g}"
    over = f"of {line['total']}" if line["statistic"] == "count" else f"{line['matrices']} matrices"
    if line.get("without"):
        over += f", {line['without']} without a value"
    if line["statistic"] == "worst":
        over = f"{line['worst_matrix']}, {over}, mean {line['geometric_mean']:.3f}"
    print(f"  {name:<46} {line['measure']:<38} {line['statistic']:<10} {bound:<15} {line['value']:9.3f}  "
          f"{verdict:<11} ({over})")


def report(report_, goals):
    """Prints the goals of the report's study; the lines."""
    backend = report_.head.get("backend")
    lines = []
    for goal in goals:
        if goal["study"] != report_.study or (goal.get("gpu") and backend == "cpu"):
            continue
        for label, patterns in lines_of(report_, goal).items():
            judged = (count if goal["statistic"] == "count" else judge)(report_, goal, label, patterns)
            lines += [judged] if judged else []
    if lines:
        print("\ngoals")
    for line in lines:
        print_line(line)
    return lines
