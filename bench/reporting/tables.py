# SPDX-License-Identifier: Apache-2.0
"""Tables of a report: its records, means over matrices, and what one study alone has."""
import math

import paper_tables  # bench/papers
from reporting import special
from reporting.records import geometric, measure, number

# What every study prints: title, width, digits, key, factor. Columns without any number are left out.
COLUMNS = [("us", 12, 2, "seconds.median", 1e6), ("min", 12, 2, "seconds.min", 1e6), ("max", 12, 2, "seconds.max", 1e6),
           ("MB", 10, 3, "bytes", 1e-6), ("GB/s", 9, 1, "gbs", 1.0), ("share %", 8, 1, "share_of_ceiling", 100.0),
           ("iter", 6, 0, "iterations", 1.0), ("residual", 10, "e", "true_relative_residual", 1.0),
           ("set-up us", 12, 2, "setup_seconds", 1e6)]
# What a study prints beside them, likewise.
OWN_COLUMNS = {
    "krylov": [("solve us", 12, 2, "solve_seconds.median", 1e6), ("both us", 12, 2, "end_to_end_seconds.median", 1e6),
               ("all bytes", 12, 0, "resident_bytes", 1.0), ("policy us", 10, 1, "policy_seconds", 1e6),
               ("conv. us", 10, 1, "conversion_seconds", 1e6), ("other us", 10, 1, "other_seconds", 1e6),
               ("first us", 10, 1, "first_seconds", 1e6), ("100 it us", 12, 2, "fixed_seconds.median", 1e6)],
    "factors": [("M^-1 us", 10, 2, "application_seconds", 1e6), ("M us", 12, 2, "precond_setup_seconds", 1e6),
                ("both us", 12, 2, "end_to_end_seconds.median", 1e6), ("M MB", 8, 2, "precond_bytes", 1e-6),
                ("steps L", 8, 0, "lower_steps", 1.0), ("steps U", 8, 0, "upper_steps", 1.0),
                ("shift", 7, 3, "shift", 1.0)],
    **paper_tables.COLUMNS,
    "first-use": [("matrix us", 10, 1, "matrix_seconds", 1e6), ("solve us", 10, 1, "solve_seconds.median", 1e6)],
}


def own_ratios(study):
    """What a study compares beside time with its baselines: title, measure."""
    def speedup(key, over, verified=False):
        return {"kind": "speedup", "key": key, "over": over, "verified": verified}

    solves = [(f"solve x {name}", speedup("solve_seconds.median", name)) for name in ("cu-*", "csr")]
    both = [(f"both x {name}", speedup("end_to_end_seconds.median", name)) for name in ("cu-*", "csr")]
    return {
        "krylov": solves + both + [("iter / csr", {"kind": "ratio", "key": "iterations", "over": "csr",
                                                   "verified": True}), ("in A x", {"kind": "setup"})],
        "factors": [("both x cu", speedup("end_to_end_seconds.median", "cg-cu-*;bicgstab-cu-*", True))],
        "formats": [("in A x", {"kind": "setup", "over": "csr-fp64"})],
        **paper_tables.RATIOS,
    }.get(study, [])


def ratios_of(report):
    """Speed-ups over each baseline and over the first contestant, then what the study has of its own."""
    timed = [record for record in report.records if record["seconds"] and record["of"] != "stage"]
    names = {name: name for name in report.baselines()}
    if report.study == "operations":  # on operands of the same precision
        libraries = dict.fromkeys(record["library"] for record in timed if not record["ours"])
        names = {library: f"{library}, {{precision}}" for library in libraries}
    if timed and report.study not in ("verify", "first-use"):
        names.setdefault(timed[0]["contestant"], timed[0]["contestant"])
    if report.study == "roofline":
        return [(f"x {name}", {"kind": "ratio", "key": "values_per_second", "over": name}) for name in names]
    verified = report.study == "gmres"  # solves are compared, and only those that are verified
    return [(f"x {name}", {"kind": "speedup", "over": over, "verified": verified}) for name, over in names.items()
            ] + own_ratios(report.study)


def text_of(value, width, digits):
    if not math.isfinite(value):
        return " " * (width - 1) + "-"
    text = f"{value:{width}.2e}" if digits == "e" else f"{value:{width}.{digits}f}"
    return text if len(text) <= width else f"{value:{width}.1e}"


def print_head(report, path):
    head = report.head
    ceilings = ", ".join(f"{name.removesuffix('_gbs')} {rate:.1f} GB/s" for name, rate in head.get("bandwidth",
                                                                                                  {}).items())
    print(f"{path}: {head['program']}, study {report.study}, "
          f"{'' if head['program'] == 'others.py' else 'tessera '}{head['version']} ({head['commit']}), "
          f"{head['device']}, {head['date']}" + (", quick: a trial, not a result" if head["quick"] else ""))
    print(f"measured: {ceilings}" if ceilings else "no bandwidth was measured")


def columns_of(report, records):
    """Those with a number in some record, as functions of a record."""
    plain = [(title, width, digits, lambda record, key=key, factor=factor: factor * number(record, key))
             for title, width, digits, key, factor in COLUMNS + OWN_COLUMNS.get(report.study, [])]
    ratios = [(title, max(10, len(title) + 1), "e" if what["kind"] == "value" else 3,
               lambda record, what=what: measure(report, record, what))
              for title, what in ratios_of(report)]
    return [column for column in plain + ratios if any(math.isfinite(column[3](record)) for record in records)]


def state_of(record):
    if "verified" not in record:
        return ""
    return "verified" if record["verified"] else "FALSE" if record.get("claimed") else record.get("reason") or ""


def print_records(report):
    records = [record for record in report.records if record["of"] != "stage"]
    columns = columns_of(report, records)
    group = None
    for record in records:
        here = (record["part"], record["set"])
        if here != group or group is None:
            print("\n" + ": ".join(word for word in here if word) + ("\n" if any(here) else "")
                  + f"{'matrix':<24} {'contestant':<28} {'precision':<15}"
                  + "".join(f"{title:>{width}}" for title, width, _, _ in columns))
        group = here
        line = f"{record['matrix'] or '':<24} {record['contestant']:<28} {record['precision'] or '':<15}"
        if record["refused"]:
            print(f"{line} not run: {record['refused']}")
            continue
        print(line + "".join(text_of(column(record), width, digits) for _, width, digits, column in columns)
              + f"  {state_of(record)}{' in cache' if record['in_cache'] else ''}")


# ---- means ----

# Studies whose means leave out matrices that lie in the cache, as their goals do; shares of the ceiling always do.
OUTSIDE_CACHE = ("block", "jacobi", "timestep")
SMALL = 65536


def groups_of(report, record):
    """Whose means a record enters: all matrices, and classes that a study has."""
    if report.study in ("operations", "accuracy"):
        return [record["operation"]]
    if report.study == "krylov" and not record["part"] and record["nrows"] <= SMALL:
        return ["all", f"n <= {SMALL:,}"]
    return ["all"] + paper_tables.classes_of(report, record)


def means_wanted(report):
    """[(title, function of a record, whether the mean is geometric)]: ratios, then shares and percentages."""
    wanted = [(title, lambda record, what=what: measure(report, record, what), True)
              for title, what in ratios_of(report)]
    if report.study == "krylov":
        wanted.insert(0, ("us", lambda record: 1e6 * number(record, "seconds.median"), True))
    own = {title for title, *_ in OWN_COLUMNS.get(report.study, []) if "%" in title} | {"of csr"}
    wanted += [(title, lambda record, key=key, factor=factor: factor * number(record, key), False)
               for title, _, _, key, factor in OWN_COLUMNS.get(report.study, []) if title in own]
    share = ("share %", lambda record: math.nan if record["in_cache"] else 100.0 * number(record, "share_of_ceiling"))
    return wanted + [(*share, False)]


def mean_of(records, name, value, is_ratio):
    values = [v for v in (value(record) for record in records) if math.isfinite(v) and (v > 0 or not is_ratio)]
    if not values:
        return None
    mean = geometric(values) if is_ratio else sum(values) / len(values)
    row = {"measure": name, "mean": mean, "kind": "geometric" if is_ratio else "arithmetic", "matrices": len(values),
           "least": min(values), "most": max(values)}
    if is_ratio:
        row["not_below_one"] = sum(v >= 1.0 for v in values)
    return row


def is_untouched(record):
    """Whether a policy chose the precisions and left nothing low: then it is FP64 under another name."""
    return any(number(record, key) == 0 for key in ("low_share", "low_nonzeros"))


def print_untouched(report):
    """How many matrices the means of a contestant leave out because nothing of them is low."""
    counts = {}
    for record in report.records:
        if not record["refused"] and record["of"] != "stage" and is_untouched(record):
            counts.setdefault(record["contestant"], []).append(record["matrix"] or "")
    for contestant, names in counts.items():
        print(f"{contestant}: {len(names)} left out of the means, of which nothing is low: "
              + ", ".join(names[:12]) + (" .." if len(names) > 12 else ""))


def group_members(report):
    """{(part, set, solver, class, contestant, of): records}."""
    groups = {}
    for record in report.records:
        if record["of"] == "stage" or record["refused"] or (report.study in OUTSIDE_CACHE and record["in_cache"]):
            continue
        if is_untouched(record):
            continue
        solver = record.get("solver") if report.study != "gmres" else None
        for label in groups_of(report, record):
            key = (record["part"], record["set"], solver, label, record["contestant"], record["of"])
            groups.setdefault(key, []).append(record)
    return groups


def means_of(report, groups):
    wanted = means_wanted(report)
    rows = []
    for (part, set_, solver, label, contestant, of), members in groups.items():
        for name, value, is_ratio in wanted:
            row = mean_of(members, name, value, is_ratio)
            if row:
                rows.append({"part": part, "set": set_, "solver": solver, "over": label, "contestant": contestant,
                             "of": of, **row})
    return rows


def print_means(report):
    """Of each contestant over the matrices of a group; the rows."""
    groups = group_members(report)
    rows = means_of(report, groups)
    print_untouched(report)
    titles = list(dict.fromkeys(row["measure"] for row in rows))
    if rows:
        which = "matrices that do not lie in the cache" if report.study in OUTSIDE_CACHE else "all matrices"
        print(f"\nmeans over {which} (of so many): geometric ones of times and ratios, arithmetic ones of "
              "percentages;\nshare % of those that do not lie in the cache; >= 1: how many of the first ratio\n"
              f"{'':<30} {'contestant':<28}" + "".join(f"{title:>{max(16, len(title) + 2)}}" for title in titles)
              + f"{'>= 1':>7}")
    for part, set_, solver, label, contestant, of in groups:
        own = {row["measure"]: row for row in rows if (part, set_, solver, label, contestant, of)
               == tuple(row[key] for key in ("part", "set", "solver", "over", "contestant", "of"))}
        if not own:
            continue
        cells = [f"{own[title]['mean']:.4g} ({own[title]['matrices']:3d})" if title in own else "-" for title in titles]
        where = ", ".join(word for word in (part, set_, solver, label) if word)
        above = next((row["not_below_one"] for title, row in own.items() if title.startswith("x ")), "")
        print(f"{where:<30} {contestant:<28}" + "".join(f"{cell:>{max(16, len(title) + 2)}}"
                                                        for cell, title in zip(cells, titles)) + f"{above:>7}")
    return rows


def print_special(report):
    for table in (paper_tables.TABLES.get(report.study, []) + special.TABLES.get(report.study, []) + special.EVERY):
        table(report)


def print_failures(report):
    head = report.head
    for skipped in head["skipped"]:
        print(f"{'FAILED' if skipped.get('failed') else 'skipped'}: {skipped['name']}: {skipped['reason']}")
    wrong = head.get("false_convergences", 0) + head.get("outside_bound", 0)
    if "false_convergences" in head:
        print(f"false convergences: {head['false_convergences']}" + (f" of {head['claims']} claims" if "claims" in head
                                                                     else ""))
    if head.get("ended_early", True):
        print("the run ended early: the report is of what ran")
    return head.get("failures", 0) > 0 or wrong > 0
