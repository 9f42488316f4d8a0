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


def print_precisions(report):
    """Percent of the nonzeros in each precision."""
    rows = [(record, counts_of(record)) for record in report.records if counts_of(record)]
    names = list(dict.fromkeys(name for _, counts in rows for name in counts))
    if rows:
        print("\npercent of the nonzeros in each precision\n" + f"{'matrix':<24} {'contestant':<28}"
              + "".join(f"{name:>9}" for name in names))
    for record, counts in rows:
        total = sum(counts.values()) or 1
        print(f"{record['matrix']:<24} {record['contestant']:<28}"
              + "".join(f"{100.0 * counts.get(name, 0) / total:9.2f}" for name in names))


def counts_of(record):
    if "levels" in record and isinstance(record["levels"], list):
        return {level["precision"]: level["nonzeros"] for level in record["levels"]}
    return record.get("nonzeros_per_precision") if record["part"] == "memory" else None


def print_direction(report):
    """Percent of p's segments below each bound times eps, then times eps ||b|| / sqrt(n): ten lines a matrix."""
    for record in report.records:
        if "relative_residuals" not in record:
            continue
        count = len(record["relative_residuals"])
        print(f"\n{record['matrix']}: percent of p's segments of {record['segment']} below {record['bounds']} times "
              "eps, and times eps ||b|| / sqrt(n)\n  iter  residual")
        for k in range(0, count, max(1, -(-count // 10))):
            shares = [100.0 * counts[k] / record["segments"] for way in ("absolute", "relative")
                      for counts in record[way]["segments"]]
            print(f"{k:6d} {record['relative_residuals'][k]:9.2e} " + "".join(f"{share:8.2f}" for share in shares))


def print_cache(report):
    """Loe et al. 2021, section V-D: one product in FP32 over FP64, w nonzeros a row; FP64 reads x for each nonzero."""
    for record in report.records:
        for high, low in (("cu-fp64", "cu-ir"), ("fp64", "ir")):
            peers = report.peers(record, high)
            seconds = number(record, "product_seconds")
            if record["contestant"] != low or not peers or not math.isfinite(seconds):
                continue
            w = record["nnz"] / record["nrows"]
            gain = number(peers[0], "product_seconds") / seconds
            print(f"{record['matrix']}: product of {high} over {low}: {gain:.3f}; without and with FP64's x cached: "
                  f"{5 * w / (2 * w + 1):.3f}, {(12 * w + 8) / (8 * w + 4):.3f}")


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


def print_digits(report):
    """How many products are accurate: more than 95 % of the elements have at least 7 digits."""
    for policy in dict.fromkeys(record["contestant"] for record in report.records):
        rows = [record for record in report.records if record["contestant"] == policy]
        seeds = [record[way]["accurate_seeds"] for record in rows for way in ("random", "uniform")]
        every = sum(all(record[way]["accurate_seeds"] == record["seeds"] for way in ("random", "uniform"))
                    for record in rows)
        first = [sum(record[way]["accurate_with_seed_1"] for record in rows) for way in ("random", "uniform")]
        print(f"{policy}: of {len(rows)} matrices {first[0]} accurate with seed 1 in (-1, 1), {first[1]} in (0, 1); "
              f"{every} with every seed; {sum(seeds)} of {2 * sum(record['seeds'] for record in rows)} products")


def print_rooflines(report):
    """GFLOP/s by operations per value, and the balance of each configuration."""
    rows = [record for record in report.records if "gflops" in record]
    names = list(dict.fromkeys(record["contestant"] for record in rows))
    print("\nGFLOP/s\n" + f"{'ops':>8} " + "".join(f"{name:>21}" for name in names))
    for ops in dict.fromkeys(record["ops_per_value"] for record in rows):
        at = {record["contestant"]: record["gflops"] for record in rows if record["ops_per_value"] == ops}
        print(f"{ops:8g} " + "".join(f"{at.get(name, math.nan):21.1f}" for name in names))
    balances = {record["contestant"]: record["ops_per_value"] / record["ops_over_balance"] for record in rows
                if "ops_over_balance" in record}
    print("balance in operations per value: "
          + ", ".join(f"{name} {balance:.1f}" for name, balance in balances.items()))


EVERY = [print_stages, print_parts]
TABLES = {"krylov": [print_precisions, print_direction], "lossless": [print_precisions], "gmres": [print_cache],
          "verify": [print_tally], "digits": [print_digits], "roofline": [print_rooflines]}
