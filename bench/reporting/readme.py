# SPDX-License-Identifier: Apache-2.0
"""The README's table of results from the records of bench/readme.sh: the whole set beside its extremes.

    report.py readme FOLDER/*.json        a table in Markdown, what each row leaves out, and the runs behind it
"""
import math

from reporting.records import divide, geometric, load, measure, number

PRODUCTS = "cusparse-csr;cusparse-csr-alg2;cusparse-sell;cusparse-sell-???;cusparse-bsr-?"
BOTH = "end_to_end_seconds.median"
CUBLAS = "cublas, fp32;cuBLAS, fp32"  # as matrices and as vectors have it


def row(title, study, ours, over, key="seconds.median", verified=False, **where):
    return {"title": title, "study": study, "ours": ours, "verified": verified, "where": where,
            "measure": {"kind": "speedup", "key": key, "over": over, "verified": verified}}


def solved(title, study, ours, over, **where):
    """A solve: only those that the independent residual confirms, on both sides."""
    return row(title, study, ours, over, where.pop("key", "seconds.median"), True, **where)


SPD, UNSYM = {"set": "spd", "solver": "cg"}, {"set": "unsym", "solver": "bicgstab"}
ROWS = [
    row("FP64 CSR product over cuSPARSE CSR", "formats", "csr-fp64", "cusparse-csr"),
    row("the same over cuSPARSE's fastest kernel of each matrix", "formats", "csr-fp64", PRODUCTS),
    row("FP32 values, FP64 sums, over our FP64 CSR", "formats", "csr-fp32", "csr-fp64"),
    row("tiles in mixed precision over cuSPARSE CSR", "block", "tiles", "cusparse-csr"),
    row("the same over our FP64 CSR", "block", "tiles", "csr-fp64"),
    solved("CG, small systems, a solve over the fastest peer", "krylov", "auto", "cu-*",
           key="solve_seconds.median", **SPD),
    solved("the same, set-up and solve", "krylov", "auto", "cu-*", key=BOTH, **SPD),
    solved("BiCGSTAB, small systems, a solve over the fastest peer", "krylov", "auto", "cu-*",
           key="solve_seconds.median", **UNSYM),
    solved("the same, set-up and solve", "krylov", "auto", "cu-*", key=BOTH, **UNSYM),
    row("CG, large matrices, per iteration over the fastest peer", "krylov", "auto", "cu-*", set="large-symmetric"),
    row("the same with `--policy lossless`", "krylov", "auto-lossless", "cu-*", set="large-symmetric"),
    solved("GMRES with FP32 cycles over our FP64 GMRES", "gmres", "ir", "fp64", set="large"),
    solved("the same over the peer's FP64, three grids", "gmres", "ir", "cu-fp64*", set=None),
    solved("the same over the peer's FP32 cycles, three grids", "gmres", "ir", "cu-ir*", set=None),
    row("CG with IC(0) per iteration over the fastest peer", "factors", "cg-ic0", "cg-cu-*", solver="cg"),
    solved("the same, set-up and solve", "factors", "cg-ic0", "cg-cu-*", key=BOTH, solver="cg"),
    row("BiCGSTAB with ILU(0) per iteration over the fastest peer", "factors", "bicgstab-ilu0", "bicgstab-cu-*",
        solver="bicgstab"),
    solved("the same, set-up and solve", "factors", "bicgstab-ilu0", "bicgstab-cu-*", key=BOTH, solver="bicgstab"),
] + [row(f"{name}, FP64 sums on FP32 storage, over cuBLAS FP32", "operations", "fp64 on fp32", CUBLAS,
         operation=operation)
     for name, operation in (("GEMV", "gemv-n"), ("GEMV transposed", "gemv-t"), ("DOT", "dot"),
                             ("triangular solve, lower", "trsv-ln"), ("triangular solve, upper", "trsv-un"))]


def fits(record, wanted):
    return (record["contestant"] == wanted["ours"] and record["of"] != "stage"
            and all(record.get(key) == value for key, value in wanted["where"].items()))


def values_of(reports, wanted):
    """[(matrix, ratio)], and how many of ours have none by reason."""
    values, without = [], {}
    for report in reports:
        for record in report.records if report.study == wanted["study"] else []:
            if not fits(record, wanted):
                continue
            value = measure(report, record, wanted["measure"])
            if math.isfinite(value):
                values.append((record["matrix"], value))
            else:
                reason = why(report, record, wanted)
                without[reason] = without.get(reason, 0) + 1
    return values, without


def why(report, record, wanted):
    """Why a record of ours has no ratio."""
    if record["refused"]:
        return "refused"
    if wanted["verified"] and not record.get("verified"):
        return "ours does not converge"
    if not math.isfinite(number(record, wanted["measure"]["key"])):
        return "too few iterations to time"
    peers = [peer for peer in report.peers(record, wanted["measure"]["over"]) if not peer["refused"]]
    if not peers:
        return "no peer ran"
    return "no peer's solve is verified" if wanted["verified"] else "no peer is timed"


def line_of(title, values, without):
    if not values:
        return None
    ratios = [value for _, value in values]
    worst, best = min(values, key=lambda v: v[1]), max(values, key=lambda v: v[1])
    count = f"{len(values)} of {len(values) + sum(without.values())}"
    left_out = "; ".join(f"{number_}: {reason}" for reason, number_ in without.items()) or "none"
    return (f"| {title} | {geometric(ratios):.3g} | {worst[1]:.3g} {worst[0]} | {best[1]:.3g} {best[0]} | {count} "
            f"| {left_out} |")


def against_plain(reports, study_set):
    """A solve with a factor over one without, set-up included: both are ours, and b of the two may differ."""
    def times(study, contestant):
        return {record["matrix"]: number(record, BOTH) for report in reports if report.study == study
                for record in report.records if record["contestant"] == contestant and record.get("verified")
                and (study == "factors" or record["set"] == study_set)}

    factor, solver = ("cg-ic0", "CG with IC(0)") if study_set == "spd" else ("bicgstab-ilu0", "BiCGSTAB with ILU(0)")
    plain, factored = times("krylov", "auto"), times("factors", factor)
    values = [(name, divide(plain[name], factored[name])) for name in plain if name in factored]
    one_side = len(plain.keys() ^ factored.keys())
    return line_of(f"{solver} over our own solve without, set-up and solve", values,
                   {"only one of the two converges": one_side} if one_side else {})


def against_others(reports):
    """A solve to the same tolerance of the same system over each other library's, set-up apart but for its AMG."""
    ours = {record["matrix"]: number(record, "solve_seconds.median") for report in reports for record in report.records
            if report.study == "krylov" and record["contestant"] == "auto" and record.get("verified")
            and record.get("solver") == "cg"}
    theirs = {}
    for record in (record for report in reports for record in report.records if record["set"] == "others"):
        values, without = theirs.setdefault(record["contestant"], ([], {}))
        ratio = divide(number(record, "seconds.median"), ours.get(record["matrix"], math.nan))
        if record.get("verified") and math.isfinite(ratio):
            values.append((record["matrix"], ratio))
        else:
            reason = "refused" if record["refused"] else "no verified solve of both"
            without[reason] = without.get(reason, 0) + 1
    return [line_of(f"CG on Laplacians, a solve over {name}", *found) for name, found in theirs.items()]


def print_claims(reports):
    claims = sum(report.head.get("claims", 0) for report in reports)
    wrong = sum(report.head.get("false_convergences", 0) for report in reports)
    for record in (record for report in reports if report.study == "factors" for record in report.records):
        if record["ours"] and record.get("claimed"):
            claims += 1
            wrong += not record["verified"]
    print(f"\nFalse claims of convergence: {wrong} of {claims}, each held against a residual in quadruple precision.")


def print_chosen(reports):
    """How often the peer took which product and updates."""
    counts = {}
    for record in (record for report in reports for record in report.records):
        if not record["ours"] and record.get("product"):
            chosen = record["product"] + (", updates " + record["updates"] if record.get("updates") else "")
            counts.setdefault(chosen, set()).add((record["study"], record["matrix"]))
    if counts:
        print("\nWhat the peer chose, by matrices and studies: " + "; ".join(
            f"{chosen} ({len(where)})" for chosen, where in sorted(counts.items(), key=lambda c: -len(c[1]))) + ".")


def main(paths):
    reports = [load(path) for path in paths]
    print("| what | mean | worst | best | matrices | left out |\n| --- | --- | --- | --- | --- | --- |")
    lines = [line_of(wanted["title"], *values_of(reports, wanted)) for wanted in ROWS]
    lines += [against_plain(reports, "spd"), against_plain(reports, "unsym")] + against_others(reports)
    for line in lines:
        if line:
            print(line)
    print("\nMeans are geometric; above 1 ours is faster. A matrix counts where both sides have a time, and of solves "
          "where the independent residual confirms both; the last column counts the others.")
    print_claims(reports)
    print_chosen(reports)
    print("\nRuns:")
    bad = 0
    for path, report in zip(paths, reports):
        head = report.head
        failed = head.get("failures", 0)
        bad += failed
        print(f"- {path}: {head['program']}, {report.study}, commit {head['commit']}, {head['date']}, "
              f"{head['device']}, {len(report.records)} records, {len(head['skipped'])} skipped, {failed} failed"
              + (", quick: a trial, not a result" if head["quick"] else ""))
    return 1 if bad else 0
