#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the two constants of the rule by which an automatic solve leaves an attempt (src/auto/budget.c).

    budget.py --tool build/release/tessera --folder FOLDER HISTORIES    # collects: HISTORIES/METHOD.NAME.RHS.csv
    budget.py HISTORIES                                                 # simulates: the table of results/automatic.md

A history is the residual norms of CG, BiCGSTAB or MINRES with Jacobi, to 1e-8, with a random b and with A x of a random
x, which falls fast at first. Collecting needs `tessera_sparse`. `--folder` has NAME.mtx or NAME.mtx.gz
for the names in MATRICES; problems of the gallery follow. What exists is not made again.

The simulation knows no device: for each history of N iterations another method costs R N iterations, for all R of
RATIOS, and the model of that cost is wrong by each factor of ERRORS. The regret of a rule is the time with it over the
lesser of N and R N. Without an end within the limit of iterations, N is that limit, and the attempt must be left.
"""

import argparse
import math
import pathlib
import subprocess

MATRICES = {
    "cg": "gyro_m cvxbqp1 bcsstk25 s1rmq4m1 s3rmt3m3 bcsstk18 bcsstk17 bcsstk38 bodyy5 t2dah_e bcsstk13 bcsstk16 x_ani4"
    " crystm01 msc04515 nasa2910 G2_circuit jnlbrng1 minsurfo wathen120 gridgena nos3 ex9 shallow_water1 Trefethen_2000"
    " bloweybq",
    "bicgstab": "wang4 epb1 memplus pesa add32 sherman5 sherman3 poli rajat11 garon1 utm5940 cavity19 cage11 e20r0100"
    " raefsky1 adder_dcop_05 rdb2048 pde900 orsreg_1 saylr4 gemat12 olm1000",
    "minres": "usroads-48 vt2010 t60k nasa4704 c-36 c-39 x_kkt_CONT-201 hangGlider_3 bcsstm10 3elt",
}
GALLERY = {
    "cg": "laplace2d:60 laplace2d:200 laplace2d:500 laplace3d:20 laplace3d:40 laplace3d:80 laplace3d:110 laplace3d27:30"
    " laplace3d27:60 stretched2d:100 stretched2d:300 elasticity3d:12 elasticity3d:20 randomdiffusion3d:30"
    " randomdiffusion3d:60 anisotropic2d:200:0.01 unstructured2d:20000 powerlaw:20000",
    "bicgstab": "uniflow2d:200 uniflow2d:500 bentpipe2d:200 bentpipe2d:400 recirc2d:200",
}
RATIOS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1, 1.4, 2, 4, 10)
ERRORS = (0.6, 1, 1.6)
LEAST_ITERATIONS, LONGEST_TREND = 20, 64


def right_hand_sides(o, matrix):
    """random: b at random; of-x: A x of a random x, which falls fast at first. (name, what --rhs takes) of both."""
    import numpy as np
    import tessera_sparse as ts
    context, file = ts.Context(device="cpu"), o.histories / "rhs.npy"
    words = str(matrix).split(":")
    a = ts.Matrix.gallery(*words[1:], context=context) if words[0] == "gallery" else ts.Matrix.read(words[0],
                                                                                                   context=context)
    np.save(file, a.to_scipy() @ np.random.default_rng(1).uniform(-1.0, 1.0, a.shape[1]))
    return ("random", "random:1"), ("of-x", str(file))


def collect(o):
    o.histories.mkdir(exist_ok=True)
    systems = [(m, name, p) for m, names in MATRICES.items() for name in names.split()
               for p in (o.folder.glob(name + ".mtx*") if o.folder else ()) if ".rhs." not in p.name]
    systems += [(m, g.replace(":", "_"), "gallery:" + g) for m, all_of in GALLERY.items() for g in all_of.split()]
    for method, name, matrix in systems:
        for kind, rhs in right_hand_sides(o, matrix):
            out = o.histories / f"{method}.{name}.{kind}.csv"
            for precond in ("jacobi", "none"):  # minres takes no diagonal with other signs
                if out.exists():
                    break
                subprocess.run([o.tool, "solve", str(matrix), "--solver", method, "--precond", precond, "--rtol",
                                "1e-8", "--rhs", rhs, "--time-limit", "60", "--history", str(out)],
                               capture_output=True)
            print(out if out.exists() else f"{name}: no history")


def read(path):
    values = [float(line.split(",")[1]) for line in path.read_text().splitlines()[1:]]
    values = [v for v in values if math.isfinite(v)]
    least, fallen = math.inf, []
    for v in values:
        least = min(least, math.log(max(v, 1e-300)))
        fallen.append(least)
    return fallen


def remaining(fallen, k, goal):
    """What remaining_iterations of budget.c says after k iterations."""
    every = 5
    while k // every > LONGEST_TREND:
        every *= 2
    entries = [fallen[every * (i + 1)] for i in range(k // every)]
    quarter, half, last = len(entries) // 4, len(entries) // 2, len(entries) - 1
    rate = max((entries[k] - entries[last]) / (every * (last - k)) for k in (quarter, half))
    to_go = fallen[k] - goal
    return 0.0 if to_go <= 0 else to_go / rate if rate > 0 else math.inf


def prepare(path):
    fallen = read(path)
    goal, count, looks = fallen[0] + math.log(1e-8), len(fallen) - 1, []
    k = LEAST_ITERATIONS
    while k <= count:
        looks.append((k, remaining(fallen, k, goal)))
        k += max(5, k // 16)
    return path.stem, count, fallen[-1] <= goal + 0.01, looks


def regrets(systems, rule):
    for name, count, ends, looks in systems:
        for ratio in RATIOS:
            other = ratio * count
            for error in ERRORS if other >= 15 else ():
                model = other * error
                left = next((k for k, rest in looks if rule(k / model, rest / model)), None)
                time = left + other if left is not None else count if ends else count + other
                yield time / (min(count, other) if ends else other), name, ratio


def share_rule(share, product):
    return lambda spent, rest: spent > share and rest > (0.5 if spent > 1 else 1) and spent * rest > product


def earlier(spent, rest):
    return (spent > 0.25 and rest > 2) or (spent > 0.5 and rest > 1) or (spent > 1 and rest > 0.5)


def row(name, found):
    found = sorted(found)
    mean = math.exp(sum(math.log(f[0]) for f in found) / len(found))
    print(f"| {name} | {mean:.3f} | {found[int(0.95 * len(found))][0]:.2f} | {found[-1][0]:.1f}"
          f" ({found[-1][1]}, {found[-1][2]:g}) |")


def simulate(o):
    systems = [s for s in map(prepare, sorted(o.histories.glob("*.csv"))) if len(s[3]) > 1]
    print(f"{len(systems)} histories, {sum(not s[2] for s in systems)} of them without an end\n")
    print("| share, product | mean | 95 % | worst (system, ratio) |\n| --- | --- | --- | --- |")
    row("never left", list(regrets(systems, lambda spent, rest: False)))
    row("a quarter and 2, a half and 1, all and 0.5", list(regrets(systems, earlier)))
    for share in (0.05, 0.08, 0.12, 0.2, 0.4, 0.67):
        for product in (0.1, 0.3, 0.7):
            row(f"{share:g}, {product:g}", list(regrets(systems, share_rule(share, product))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("histories", type=pathlib.Path)
    parser.add_argument("--tool")
    parser.add_argument("--folder", type=pathlib.Path)
    o = parser.parse_args()
    (collect if o.tool else simulate)(o)


if __name__ == "__main__":
    main()
