# SPDX-License-Identifier: Apache-2.0
"""Tables that one study alone has."""
import math

from reporting.records import divide, number


def print_stages(report):
    """What a set-up is made of, stage by stage."""
    stages = [record for record in report.records if record["of"] == "stage"]
    if stages:
        print(f"\nstages of set-up\n{'matrix':<24} {'contestant':<28} {'count':>5} {'us':>12} {'products':>9}")
    for stage in stages:
        products = divide(number(stage, "stage_seconds"), number(stage, "product_seconds"))
        products = f"{products:9.3f}" if math.isfinite(products) else f"{'-':>9}"
        print(f"{stage['matrix']:<24} {stage['contestant']:<28} {stage['count']:5d} "
              f"{1e6 * stage['stage_seconds']:12.2f} {products}  {stage['stage']}")


def print_parts(report):
    """Where the time of an iteration or a solve goes, in percent."""
    rows = [record for record in report.records if record.get("part_seconds")]
    names = list(dict.fromkeys(name for record in rows for name in record["part_seconds"]))
    if rows:
        print("\npercent of the time by kinds of work\n" + f"{'matrix':<24} {'contestant':<28}"
              + "".join(f"{name:>13}" for name in names) + f"{'measuring %':>13}")
    for record in rows:
        whole = record.get("profiled_seconds") or number(record, "seconds.median")
        shares = [100.0 * number(record["part_seconds"], name) / whole for name in names]
        cost = 100.0 * (divide(number(record, "profiled_seconds"), number(record, "seconds.median")) - 1.0)
        print(f"{record['matrix']:<24} {record['contestant']:<28}"
              + "".join(f"{share:13.1f}" if math.isfinite(share) else f"{'-':>13}" for share in [*shares, cost]))


def print_tally(report):
    """Solves by outcome; implied: not run, since a looser tolerance was never met and the iterates are the same."""
    tallies = {}
    for record in report.records:
        for rtol in report.head["tolerances"]:
            if rtol == record["rtol"] or (record["implies_tighter"] and rtol < record["rtol"]):
                key = (record["solver"], record["precond"], rtol)
                tallies.setdefault(key, []).append((record, rtol != record["rtol"]))
    print(f"\n{'solver':<9}{'precond':<8}{'rtol':>7}{'runs':>6}{'implied':>8}{'claimed':>8}{'truly':>7}{'FALSE':>6}"
          f"{'modest':>7}{'capped':>7}{'unbound':>8}{'repaired':>9}  reasons (runs and implied)")
    for (solver, precond, rtol), entries in sorted(tallies.items(), key=lambda item: (*item[0][:2], -item[0][2])):
        runs = [record for record, implied in entries if not implied]
        claimed = [record for record in runs if record["claimed"]]
        reasons = {}
        for record, _ in entries:
            reasons[record["reason"]] = reasons.get(record["reason"], 0) + 1
        truly = sum(record["verified"] for record in claimed)
        counts = (len(runs), len(entries) - len(runs), len(claimed), truly, len(claimed) - truly,
                  sum(record["verdict"] == "modest" for record in runs), sum(record["capped"] for record in runs),
                  sum(record["outside_bound"] for record in runs), sum(record["refinements"] > 0 for record in claimed))
        print(f"{solver:<9}{precond:<8}{rtol:7.0e}" + "".join(
            f"{count:{width}d}" for count, width in zip(counts, (6, 8, 8, 7, 6, 7, 7, 8, 9)))
            + "  " + " ".join(f"{reason} {count}" for reason, count in reasons.items()))


EVERY = [print_stages, print_parts]
TABLES = {"verify": [print_tally]}
