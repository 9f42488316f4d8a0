#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The first solve of a fresh process: python3 bench/python_first.py [--device cpu] [--processes 10] [--json FILE].

Each process makes the CUDA context with the driver alone, then imports NumPy, imports `tessera_sparse`, and solves two
systems of NumPy arrays on the GPU. `first` is the first solve with its context, matrix and set-up: what a program waits
beyond the CUDA context. `second` is another matrix in the same process. Seconds: the median and the least.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

PARTS = ("context", "numpy", "import", "first", "second")


def cuda_context():
    """The primary context of the first GPU, by the driver; no library of ours or CUDA's runtime is loaded."""
    driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    for done in (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0),
                 driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)):
        if done:
            raise OSError(f"the CUDA driver answers {done}")


def in_one_process(device):
    clock = [time.perf_counter()]
    if device == "gpu":
        cuda_context()
    clock.append(time.perf_counter())
    import numpy
    clock.append(time.perf_counter())
    import tessera_sparse as ts
    clock.append(time.perf_counter())
    for size in (64, 65):
        A = ts.Matrix.gallery("laplace2d", size, context=ts.Context(device=device))
        result = ts.solve(A, numpy.ones(size * size), solver="cg", rtol=1e-10)
        assert result.verified
        clock.append(time.perf_counter())
    print(json.dumps({part: clock[i + 1] - clock[i] for i, part in enumerate(PARTS)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return in_one_process(arguments.device)
    again = [sys.executable, os.path.abspath(__file__), "--one", "--device", arguments.device]
    rows = [json.loads(subprocess.run(again, stdout=subprocess.PIPE, text=True, check=True).stdout)
            for _ in range(arguments.processes)]
    for part in PARTS:
        seconds = [row[part] for row in rows]
        print(f"{part:>8} {statistics.median(seconds):8.4f} {min(seconds):8.4f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"program": "python_first.py", "device": arguments.device, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
