# SPDX-License-Identifier: Apache-2.0
"""Reports of the benchmarks: their records, what belongs to one problem, and what follows from several records."""
import fnmatch
import json
import math
import pathlib

# A problem is a matrix of a part and a set; records of some studies need more to be comparable.
PROBLEM_KEYS = {"formats": ("vectors",), "columns": ("columns",), "krylov": ("solver",), "factors": ("solver",),
                "verify": ("rtol",), "gmres": ("precond", "restart", "reorder")}
COMMON_KEYS = ("part", "set", "matrix", "of")


def matches(name, patterns):
    """Whether a name is among names and patterns with semicolons; None has all."""
    return patterns is None or any(fnmatch.fnmatchcase(name or "", pattern) for pattern in patterns.split(";"))


def number(record, key):
    """The number at a path such as seconds.median; NaN where there is none."""
    value = record
    for word in key.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else math.nan


class Report:
    """What one run of a benchmark wrote."""

    def __init__(self, head):
        self.head = head
        self.study = head["study"]
        self.records = head.pop("results")
        self.index()

    def index(self):
        self.problems = {}
        for record in self.records:
            self.problems.setdefault(self.problem_of(record), []).append(record)

    def problem_of(self, record):
        keys = COMMON_KEYS + PROBLEM_KEYS.get(self.study, ())
        return tuple(record.get(key) for key in keys)

    def keep(self, contestants, matrices):
        self.records = [record for record in self.records
                        if matches(record["contestant"], contestants) and matches(record["matrix"], matrices)]
        self.index()

    def peers(self, record, patterns):
        """Records of the same problem by contestants that match. @base: the record's own; {precision} is filled in."""
        problem = self.problems[self.problem_of(record)]
        if patterns == "@base":
            return [other for other in problem if other["contestant"] == record.get("base")]
        wanted = patterns.replace("{precision}", record.get("precision") or "")
        return [other for other in problem if matches(other["contestant"], wanted)]

    def baselines(self):
        """Names of those that are not ours, in the order of the report."""
        return list(dict.fromkeys(record["contestant"] for record in self.records
                                  if not record["ours"] and not record["refused"]))


def load(path):
    with open(pathlib.Path(path), encoding="utf-8") as file:
        return Report(json.load(file))


# ---- what is measured, and what follows from it ----

def least(values):
    return min((value for value in values if math.isfinite(value)), default=math.nan)


def divide(above, below):
    return above / below if math.isfinite(above) and math.isfinite(below) and below > 0 else math.nan


def value_of(record, key, verified):
    return number(record, key) if not verified or record.get("verified") else math.nan


def measure(report, record, what):
    """A measure of a record, by its kind; NaN where it has none. Of several others the fastest counts.

    value     the number at `key`, times `scale`
    speedup   that of `over`, over the record's own
    ratio     the record's own over that of `over`
    of_bytes  the speed-up by the one that the bytes of both predict
    setup     the set-up in products of `over` (or in those that the record itself names)
    lost      1 where `over` is verified and the record is not, 0 where both are
    """
    kind, key, verified = what["kind"], what.get("key", "seconds.median"), what.get("verified", False)
    if record["refused"]:
        return math.nan
    own = value_of(record, key, verified)
    if kind == "value":
        return own * what.get("scale", 1.0)
    if kind == "setup" and record.get("product_seconds") is not None:
        return divide(number(record, "setup_seconds"), number(record, "product_seconds"))
    others = report.peers(record, what["over"]) if "over" in what else []
    other = least(value_of(peer, key, verified) for peer in others)
    if kind == "speedup":
        return divide(other, own)
    if kind == "ratio":
        return divide(own, other)
    if kind == "setup":
        return divide(number(record, "setup_seconds"), other)
    if kind == "of_bytes":
        peer = next((peer for peer in others if number(peer, key) == other), None)
        return divide(other, own) * divide(number(record, "bytes"), number(peer, "bytes")) if peer else math.nan
    if kind == "lost":
        solved = any(peer.get("verified") for peer in others)
        return float(not record.get("verified")) if solved and record.get("verified") is not None else math.nan
    raise SystemExit(f"no kind of measure '{kind}'")


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])
