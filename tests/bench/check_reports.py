# SPDX-License-Identifier: Apache-2.0
"""What studies.sh has measured, in the present folder: records, their sums, and what bench/report.py makes of them."""
import csv
import glob
import json
import math
import sys

sys.dont_write_bytecode = True  # nothing beside the sources

# The one schema: each record of each study has these.
KEYS = {"study", "part", "set", "matrix", "nrows", "ncols", "nnz", "contestant", "ours", "device", "precision", "of",
        "seconds", "samples", "calls_per_sample", "bytes", "gbs", "share_of_ceiling", "in_cache", "setup_seconds",
        "iterations", "true_relative_residual", "refused"}


def load(name):
    with open(name + ".json", encoding="utf-8") as file:
        return json.load(file)


def goals_of(name):
    with open(name + ".summary", encoding="utf-8") as file:
        return json.load(file)[0]["goals"]


def means_of(name):
    with open(name + ".summary", encoding="utf-8") as file:
        return json.load(file)[0]["means"]


def check(condition, what):
    if not condition:
        raise SystemExit("FAIL: " + what)


def close(a, b, tolerance=1e-6):
    return math.isclose(a, b, rel_tol=tolerance)


def rows_of(report, **wanted):
    return [r for r in report["results"] if all(r.get(k) == v for k, v in wanted.items())]


def check_schema():
    for path in sorted(glob.glob("*.json")):
        report = load(path.removesuffix(".json"))
        check({"program", "study", "version", "commit", "date", "device", "quick", "failures"} <= set(report), path)
        check(report["results"] or path == "early.json", path + " has no records")
        for r in report["results"]:
            check(KEYS <= set(r), f"{path}: a record lacks {KEYS - set(r)}")
            check(r["study"] == report["study"] and r["device"] == report["device"], path + ": study and device")
            if r["seconds"]:
                check(r["samples"] >= 1 and r["seconds"]["min"] <= r["seconds"]["median"] <= r["seconds"]["max"],
                      f"{path}: times of {r['contestant']}")
            if r["gbs"]:
                check(close(r["gbs"], 1e-9 * r["bytes"] / r["seconds"]["median"]), path + ": bandwidth")
            if r["share_of_ceiling"]:
                ceilings = [rate for rate in report["bandwidth"].values()]
                check(any(close(r["share_of_ceiling"], r["gbs"] / rate) for rate in ceilings), path + ": share")


def check_products():
    rows = load("formats")["results"]
    check({r["contestant"] for r in rows} >= {"csr-fp64", "csr-fp32", "sell-fp64", "sell-fp32-all-fp32"}, "formats")
    check(all(0 <= r["error_over_bound"] <= 1 and r["setup_seconds"] > 0 for r in rows), "products are checked")
    digits = rows_of(load("digits"), contestant="mean-3std:0.5")[0]
    check(digits["random"]["accurate_seeds"] == digits["seeds"] == 2 and digits["parameter"] == 0.5, "digits")
    lossless = rows_of(load("lossless"), contestant="lossless")[0]
    check(close(lossless["bytes_over_fp64_csr"], lossless["bytes"] / lossless["fp64_csr_bytes"]), "bytes over csr")
    check(sum(level["nonzeros"] for level in lossless["levels"]) == lossless["nnz"], "nonzeros by precision")
    goal = next(g for g in goals_of("lossless") if g["of"] == "lossless")
    check(close(goal["value"], lossless["bytes_over_fp64_csr"]) and goal["reached"], "goal of lossless")


def check_krylov_goals():
    goals = load("goals")
    check(goals["failures"] == 0 and goals["false_convergences"] == 0 and goals["claims"] > 0, "claims")
    lines = {(g["goal"], g["of"], g["measure"], g["statistic"]): g for g in goals_of("goals")}
    autos = rows_of(goals, set="laplace2d", solver="cg", contestant="auto", of="iteration")
    times = [1e6 * r["seconds"]["median"] for r in autos]
    worst = lines["laplace2d, n <= 4,096", "auto", "us per iteration", "worst"]
    check(len(times) == 2 and close(worst["value"], max(times)), "worst time per iteration")
    check(worst["reached"] == (worst["value"] <= worst["bound"]), "verdict")
    best = lines["laplace2d, n <= 4,096", "best", "us per iteration", "worst"]
    check(best["value"] <= worst["value"], "the best of ours")
    check(lines["solves back to back", "", "wrong results", "count"]["total"] == 5 * 2 * 4, "solves back to back")
    check(lines["solves that claim convergence", "", "false claims", "count"]["value"] == 0, "false claims")
    check(all(r["verified"] and r["claims"] == 5 for r in rows_of(goals, solver="bicgstab")), "bicgstab, five sides")
    check(rows_of(goals, solver="bicgstab", matrix="uniflow2d-12")
          and not rows_of(goals, solver="cg", matrix="uniflow2d-12"), "methods by symmetry")
    csr = rows_of(goals, set="laplace2d", contestant="csr", of="iteration")
    ratios = [a["solve_seconds"]["median"] / b["solve_seconds"]["median"] for a, b in zip(csr, autos)]
    mean = next(m for m in means_of("goals") if (m["set"], m["contestant"], m["measure"], m["over"])
                == ("laplace2d", "auto", "solve x csr", "all"))
    check(close(mean["mean"], math.exp(sum(map(math.log, ratios)) / 2)) and mean["matrices"] == 2, "mean of speed-ups")


def check_krylov():
    iterations = load("iterations")
    mean = next(g for g in goals_of("iterations") if (g["goal"], g["of"], g["statistic"])
                == ("cg, spd", "tiles-lossless", "arithmetic"))
    ratios = [r["iterations"] / c["iterations"] for r, c in
              zip(rows_of(iterations, solver="cg", contestant="tiles-lossless"),
                  rows_of(iterations, solver="cg", contestant="csr"))]
    check(len(ratios) == 2 and close(mean["value"], sum(ratios) / 2), "mean of ratios of iterations")
    with open("papers.csv", encoding="utf-8") as file:
        history = [r for r in csv.DictReader(file) if r["matrix"] == "laplace2d-12" and r["contestant"] == "csr"]
    solved = rows_of(load("papers"), matrix="laplace2d-12", contestant="csr")[0]
    check(len(history) == solved["iterations"] + 1 and float(history[-1]["relative_residual"]) <= 1e-10, "history")
    fixed = load("fixed")
    check(any(r["fixed_seconds"] for r in rows_of(fixed, set="papers", contestant="csr")), "100 iterations")
    narrowed = rows_of(fixed, set="papers", contestant="resident-narrowing", matrix="laplace2d-17")
    check(any(r["verified"] and sum(r["tile_products"].values()) > 0 and not r["false_claims"] for r in narrowed
              if "verified" in r), "products of tiles are counted")
    share = rows_of(load("shares"), contestant="csr", solver="cg")[0]
    parts, whole = share["part_seconds"], share["seconds"]["median"]
    check(0 < parts["spmv"] < whole, "share of products")
    check(close(parts["spmv"] + parts["fused"] + parts["verification"], whole, 1e-3), "shares add up")
    limit = load("limit")
    check(all(not r["verified"] and r["reason"] == "iterations" and r["solve_seconds"] is None
              for r in limit["results"]), "a limit is no solution")
    check(limit["claims"] == 0 and not any(g["goal"].startswith("solves that") for g in goals_of("limit")), "no claims")


def check_direction():
    for r in load("direction")["results"]:
        for way in ("absolute", "relative"):
            for kind in ("segments", "elements"):
                counts = r[way][kind]
                check(all(len(c) == r["iterations"] for c in counts), "a count for each iteration")
                check(all(a <= b for low, high in zip(counts, counts[1:]) for a, b in zip(low, high)),
                      "wider bounds hold more")
        inner = (math.isqrt(r["nrows"]) - 2) ** 2  # rows of A whose entries add up to zero: the first p is b
        check(r["relative"]["elements"][0][0] == r["absolute"]["elements"][0][0] == inner, "the first p")
        check(r["relative_residuals"][0] == 1.0 and r["relative_residuals"][-1] < 1e-6, "residuals")
        # x converges with the solver's iterations: the same method
        solver = rows_of(load("iterations"), matrix=r["matrix"], solver="cg", contestant="csr")[0]
        check(abs(r["iterations"] - solver["iterations"]) <= 1, "Algorithm 1 takes as many iterations as the solver")


def adds_up(stages):
    # nine digits of each are in the report: half a unit of the last is 5e-9 of it at most, and as much of the sum
    return len(stages) > 1 and close(stages[-1]["stage_seconds"], sum(t["stage_seconds"] for t in stages[:-1]), 1e-8)


def check_setup():
    setup = load("setup")
    for r in rows_of(setup, of="set-up"):
        parts = r["policy_seconds"] + r["conversion_seconds"] + r["other_seconds"] + r["first_seconds"]
        check(parts >= 0.99 * r["setup_seconds"] > 0, "set-up by steps")
        stages = rows_of(setup, of="stage", matrix=r["matrix"], contestant=r["contestant"])
        check(stages[-1]["stage_seconds"] > 0 and adds_up(stages), "stages add up")
    for name in ("cg-ic0", "bicgstab-ilu0-merged"):
        check(adds_up(rows_of(load("factor_stages"), contestant=name)), "stages of factors")
    memory = load("memory")
    alone = rows_of(memory, contestant="(each nonzero alone)")[0]["nonzeros_per_precision"]
    tiles = rows_of(memory, contestant="tiles-lossless")[0]
    check(alone["e4m3"] == tiles["nonzeros_per_precision"]["e4m3"] == tiles["nnz"], "4 and -1 are in 8 bits")
    check(tiles["matrix_bytes"] < tiles["fp64_csr_bytes"], "tiles take less")


def check_solves():
    check(all(r["verified"] and r["end_to_end_seconds"] for r in load("plain")["results"]), "runs without a part")
    for r in load("factors")["results"]:
        check(r["verified"] and r["application_seconds"] > 0 and r["precond_bytes"] > 0, "factors")
    for name in ("gmres", "fig5"):
        gmres = load(name)
        check(gmres["false_convergences"] == 0 and gmres["claims"] == len(gmres["results"]), "claims of gmres")
        for r in gmres["results"]:
            check(sum(r["part_seconds"].values()) <= r["profiled_seconds"] * (1 + 1e-6), "parts of gmres")
    with open("gmres.csv", encoding="utf-8") as file:
        check({r["contestant"] for r in csv.DictReader(file)} == {"fp64", "ir"}, "histories of gmres")
    verify = load("verify")
    check(len(verify["results"]) == 12 and verify["false_convergences"] == verify["outside_bound"] == 0, "verify")
    check(all(r["verdict"] == "true" and r["true_relative_residual"] <= r["rtol"] for r in verify["results"]),
          "verdicts")
    rounds = rows_of(load("first"), of="round")
    check(len(rounds) == 3 and all(r["matrix_seconds"] + r["setup_seconds"] + r["solve_seconds"]["median"]
                                   <= r["seconds"]["median"] * 1.01 for r in rounds), "rounds of a first use")


def check_others():
    dense = load("dense")
    check(rows_of(dense, operation="dot", library="loop"), "loops as a baseline")
    check(rows_of(dense, operation="gemv-n", precision="e5m2"), "precisions of GEMV")
    check(all(r["error_over_bound"] <= 1 for r in dense["results"] if r["ours"]), "dense results are checked")
    read = load("read")
    check(len(rows_of(read, contestant="plain reads")) == 5 and len(rows_of(read, threads=1, ours=True)) == 5, "read")
    split = load("split")
    check(all(r["residual_over_bound"] <= 1 for r in split["results"]), "residuals are within their bounds")
    check(rows_of(split, contestant="split-row")[0]["precision"] == "fp64,fp32", "precisions of split")
    check(rows_of(split, contestant="split-row-shadow")[0]["low_share"] > 0.2, "the policy of split leaves rows low")
    check(rows_of(split, contestant="split-row-shadow")[0]["residual_over_bound"] > 0, "products of low rows round")
    block = load("block")
    check(all(sum(r["elements_by_digits"]) == r["nrows"] for r in rows_of(block, of="product")), "elements by digits")
    check(adds_up(rows_of(block, of="stage", contestant="tiles")), "stages of blocks")
    jacobi = load("jacobi")
    fp64, three = (rows_of(jacobi, contestant=name)[0] for name in ("fp64", "3-step"))
    check(three["bytes"] < fp64["bytes"] and three["iterations"] == fp64["iterations"], "steps move less")
    check(rows_of(jacobi, contestant="fp16, switched")[0]["base"] == "fp64, tolerance", "bases of steps")
    steps = rows_of(load("timestep"), contestant="fp32")[0]
    check(0 < steps["relative_difference"] < 1e-3 and steps["true_relative_residual"] is None, "time steps")
    roofline = load("roofline")
    loops = [r for r in roofline["results"] if r["part"] is None]
    check(len(loops) == 9 * 13, "roofline: nine loops at thirteen intensities")
    check(all(r["results_compared"] == 1 for r in loops), "results of loops")
    references = rows_of(roofline, part="reference")
    check({r["precision"] for r in references} == {"fp64", "fp32", "fp16", "bf16", "e4m3", "e5m2"}, "references")
    check(sum(r["ours"] for r in references) * 2 == len(references) > 0, "each reference has its loop by hand")
    accuracy = load("accuracy")
    for operation in ("dot", "spmv"):
        exact, half = (rows_of(accuracy, operation=operation, precision=p)[0] for p in ("fp64", "fp16"))
        check(exact["unrounded"]["mean"] < 1e-14 < half["unrounded"]["mean"], "errors by precision")


def check_measures(root):
    """Kinds of measures and statistics by hand: the report may not agree with itself alone."""
    sys.path.insert(0, root + "/bench")
    from reporting import goals, records

    def record(matrix, contestant, seconds, size, ours=True):
        return {"part": None, "set": None, "matrix": matrix, "of": "product", "contestant": contestant, "ours": ours,
                "refused": None, "in_cache": False, "seconds": {"median": seconds}, "bytes": size, "setup_seconds": 6.0}

    report = records.Report({"study": "block", "backend": "cuda", "results": [
        record("a", "base", 4.0, 80, False), record("a", "low", 2.0, 50), record("b", "base", 9.0, 80, False),
        record("b", "low", 1.0, 50)]})
    low = report.records[1]
    values = {"speedup": 2.0, "ratio": 0.5, "of_bytes": 2.0 * 50 / 80, "setup": 1.5}
    for kind, value in values.items():
        check(close(records.measure(report, low, {"kind": kind, "over": "base"}), value), "measure " + kind)
    goal = {"name": "g", "text": "t", "study": "block", "measure": {"kind": "speedup", "over": "base"}}
    for statistic, bound, value, reached in (("geometric", 4.3, math.sqrt(18.0), False), ("arithmetic", 5.5, 5.5, True),
                                             ("median", 5.6, 5.5, False), ("worst", 2.0, 2.0, True)):
        line = goals.judge(report, {**goal, "statistic": statistic, "at_least": bound}, "", "*")
        check(close(line["value"], value) and line["reached"] is reached and line["worst_matrix"] == "a", statistic)


def check_readme():
    """The README's rows by hand: what has no ratio is counted with its reason, extremes have their matrices."""
    from reporting import readme, records

    def record(matrix, contestant, seconds, verified, of="iteration"):
        return {"part": None, "set": "spd", "solver": "cg", "matrix": matrix, "of": of, "contestant": contestant,
                "ours": contestant == "auto", "refused": None, "verified": verified, "seconds": None,
                "solve_seconds": {"median": seconds}, "in_cache": False}

    report = records.Report({"study": "krylov", "results": [
        record(matrix, name, seconds[name], verified.get(name, False))
        for matrix, seconds, verified in (
            ("a", {"auto": 1.0, "cu-graph": 2.0, "cu-plain": 1.0}, {"auto": True, "cu-graph": True, "cu-plain": True}),
            ("b", {"auto": 1.0, "cu-graph": 4.0, "cu-plain": 3.0}, {"auto": True, "cu-graph": True}),
            ("c", {"auto": 1.0, "cu-graph": 9.0, "cu-plain": 9.0}, {"cu-graph": True, "cu-plain": True}),
            ("d", {"auto": 1.0, "cu-graph": 9.0, "cu-plain": 9.0}, {"auto": True}))
        for name in seconds]})
    wanted = next(row for row in readme.ROWS if row["title"].startswith("CG, small systems"))
    line = readme.line_of("t", *readme.values_of([report], wanted))
    check(line == "| t | 2 | 1 a | 4 b | 2 of 4 | 1: ours does not converge; 1: no peer's solve is verified |", line)
    with open("readme.md", encoding="utf-8") as file:
        table = file.read()
    rows = {r["contestant"]: r["seconds"]["median"] for r in load("formats")["results"]}
    check(f"FP32 values, FP64 sums, over our FP64 CSR | {rows['csr-fp64'] / rows['csr-fp32']:.3g} |" in table, table)
    check(f"0 of {load('goals')['claims'] + 2 + load('gmres')['claims']}, each" in table, table)


check_schema()
check_products()
check_krylov_goals()
check_krylov()
check_direction()
check_setup()
check_solves()
check_others()
check_measures(sys.argv[1])
check_readme()
