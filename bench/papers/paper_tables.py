# SPDX-License-Identifier: Apache-2.0
"""What bench/report.py prints of the papers' studies alone: columns, ratios and tables."""
import math

from reporting.records import number

# By study, as those of reporting/tables.py: title, width, digits, key, factor.
COLUMNS = {
    "gmres": [("restart", 8, 0, "restart", 1.0), ("refin.", 7, 0, "refinements", 1.0),
              ("us/it", 10, 2, "seconds_per_iteration", 1e6), ("peak MB", 8, 0, "peak_device_bytes", 1e-6)],
    "split": [("% low", 7, 1, "low_share", 100.0),
              ("of bound", 9, 3, "residual_over_bound", 1.0), ("first us", 12, 2, "first_setup_seconds", 1e6)],
    "block": [("% low bl", 9, 1, "low_blocks", 100.0), ("% low nz", 9, 1, "low_nonzeros", 100.0),
              ("% fill", 7, 1, "fill", 100.0), ("a block", 8, 1, "nonzeros_per_block_of_16x16", 1.0),
              ("% 7 dig", 8, 1, "accuracy_ratio", 100.0), ("first us", 12, 2, "first_setup_seconds", 1e6)],
    "digits": [("F", 9, 3, "parameter", 1.0), ("% low", 7, 2, "low_share", 100.0),
               ("1st -1..1", 10, 2, "random.ratio_of_seed_1", 100.0), ("worst", 7, 2, "random.worst_ratio", 100.0),
               ("1st 0..1", 9, 2, "uniform.ratio_of_seed_1", 100.0), ("worst", 7, 2, "uniform.worst_ratio", 100.0)],
    "lossless": [("a tile", 8, 2, "nonzeros_per_tile", 1.0), ("of csr", 7, 3, "bytes_over_fp64_csr", 1.0),
                 ("error", 10, "e", "largest_relative_error", 1.0)],
    "jacobi": [("% low", 7, 1, "low_share", 100.0), ("us/it", 10, 2, "seconds_per_iteration", 1e6)],
    "timestep": [("% low", 7, 1, "low_share", 100.0), ("us/step", 10, 2, "seconds_per_iteration", 1e6),
                 ("difference", 11, "e", "relative_difference", 1.0)],
    "accuracy": [("unrounded", 10, "e", "unrounded.mean", 1.0), ("median", 10, "e", "unrounded.median", 1.0),
                 ("predicted", 10, "e", "unrounded.predicted_by_storage", 1.0), ("stored", 10, "e", "stored.mean", 1.0),
                 ("median", 10, "e", "stored.median", 1.0), ("predicted", 10, "e", "stored.predicted_by_storage", 1.0)],
    "roofline": [("GFLOP/s", 10, 1, "gflops", 1.0), ("of roof %", 10, 1, "share_of_roof", 100.0),
                 ("1e9 val/s", 10, 1, "values_per_second", 1e-9), ("balances", 9, 2, "ops_over_balance", 1.0)],
}
BASE = "csr-fp64;ellr-fp64"
# Title, measure.
RATIOS = {
    "gmres": [("iter / fp64", {"kind": "ratio", "key": "iterations", "over": "fp64"})],
    "split": [("residual", {"kind": "value", "key": "relative_residual"}),
              ("of bytes", {"kind": "of_bytes", "over": BASE}), ("in A x", {"kind": "setup", "over": BASE})],
    "block": [("of bytes", {"kind": "of_bytes", "over": "csr-fp64"}),
              ("of csr", {"kind": "ratio", "key": "stored_bytes", "over": "csr-fp64"}),
              ("in A x", {"kind": "setup", "over": "csr-fp64"})],
    "jacobi": [("x base", {"kind": "speedup", "over": "@base"}), ("of bytes", {"kind": "of_bytes", "over": "@base"}),
               ("res / fp64", {"kind": "ratio", "key": "relative_residual", "over": "fp64"})],
    "timestep": [("of bytes", {"kind": "of_bytes", "over": "fp64"})],
    "digits": [("of 0.5", {"kind": "ratio", "key": "bytes", "over": "mean-3std:0.5"})],
    "accuracy": [("less by", {"kind": "speedup", "key": "unrounded.mean", "over": "fp32 on {precision}"})],
}


def add_balance(report):
    """Rooflines: operations over those at which memory and arithmetic take the same time, and the share of the peak."""
    peaks = report.head.get("peak", {})
    read = report.head.get("bandwidth", {}).get("read_gbs", 0.0)
    for record in report.records:
        peak = peaks.get(f"{record.get('arithmetic')}_gflops", 0.0)
        width = number(record, "bytes") / number(record, "values")
        if peak > 0 and read > 0 and record.get("ops_per_value"):
            record["ops_over_balance"] = record["ops_per_value"] / (peak * width / read)
            record["share_of_peak"] = record["gflops"] / peak


def classes_of(report, record):
    """Classes of matrices that have means of their own."""
    if report.study == "block" and record.get("blocky"):
        return ["blocky"]
    if report.study == "lossless" and record["nonzeros_per_tile"] >= 4.0:
        return ["4 nonzeros a tile"]
    if report.study == "split":
        ends = (0.5, 1.0, 2.5, 5.0, math.inf)
        lower = max((end for end in (0.0, *ends) if end <= record["density"]), default=0.0)
        upper = min(end for end in ends if end > record["density"])
        return [f"density {lower:g} to {upper:g}"]
    return []


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


def print_bypassed(report):
    """Of runs of 100 iterations: products of tiles that were skipped, and how many of those past convergence."""
    rows = [record for record in report.records if "fixed_bypassed" in record]
    if rows:
        print("\n100 iterations with narrowing: percent of the products skipped, of those percent past convergence\n"
              f"{'matrix':<24} {'contestant':<28}{'made':>6}{'converges at':>13}{'% skipped':>10}{'% past':>8}")
    for record in rows:
        print(f"{record['matrix']:<24} {record['contestant']:<28}{record['fixed_iterations_made']:6d}"
              f"{record['fixed_iterations_to_convergence']:13d}"
              f"{100.0 * number(record, 'fixed_bypassed_share'):10.2f}"
              f"{100.0 * number(record, 'bypassed_past_convergence'):8.2f}")
    every = sum(record["fixed_bypassed"] for record in rows)
    if every:
        before = sum(record["fixed_bypassed_before_convergence"] for record in rows)
        print(f"of all that were skipped {100.0 * (1.0 - before / every):.1f} % past convergence")


TABLES = {"krylov": [print_precisions, print_direction, print_bypassed], "lossless": [print_precisions],
          "digits": [print_digits],
          "roofline": [print_rooflines], "gmres": [print_cache]}
