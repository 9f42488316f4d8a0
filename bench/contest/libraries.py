# SPDX-License-Identifier: Apache-2.0
"""Which libraries there are, and what it takes to start one."""
import importlib
import os
import platform
import subprocess
import sys

import cudss
import ginkgo
import native
import petsc_peer
import python_peers
import torch_peer
from ours import Tessera

HOW = native.HOW + cudss.HOW + ginkgo.HOW + petsc_peer.HOW + python_peers.HOW + torch_peer.HOW
NATIVE = dict(native.LIBRARIES, cudss=cudss.Cudss, ginkgo=ginkgo.Ginkgo)
PYTHON = {"tessera": Tessera, "scipy": python_peers.Scipy, "cholmod": python_peers.Cholmod, "cupy": python_peers.Cupy,
          "pyamg": python_peers.Pyamg, "petsc": petsc_peer.Petsc, "petsc-mpi": petsc_peer.Petsc,
          "torch-sla": torch_peer.TorchSla}
NEEDS = {"tessera": "tessera_sparse", "scipy": "scipy.sparse", "cholmod": "sksparse.cholmod", "cupy": "cupy",
         "pyamg": "pyamg", "petsc": "petsc4py.PETSc", "petsc-mpi": "petsc4py.PETSc",
         "torch-sla": "torch_sla"}
ON_A_GPU = ("tessera", "cupy", "torch-sla")
ON_A_HOST = tuple(name for name in PYTHON if name != "cupy")
OF_PROCESSES = ("petsc-mpi",)  # one for each thread of the others
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def python_of(name, options):
    return options.python.get(name, sys.executable)


def launcher(name, options):
    """What stands before the command of a process, and its environment: as many threads for all. Ours has cuDSS too,
    which it takes where complete factors pay."""
    processes = options.threads if name in OF_PROCESSES else 1
    environment = dict(os.environ, **{word: str(options.threads // processes) for word in THREADS})
    if "cudss" in options.libraries:
        environment.setdefault("TESSERA_CUDSS", str(options.libraries["cudss"]))
    if processes == 1:
        return [], environment
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")  # in a container
    return ["mpiexec", "-n", str(processes)], environment


def is_there(name, options):
    """Whether its Python has the module, and a library of several processes their launcher."""
    try:
        begin, environment = launcher(name, options)
        done = subprocess.run([*begin, python_of(name, options), "-c", f"import {NEEDS[name]}, scipy.sparse"],
                              capture_output=True, check=False, env=environment)
        return done.returncode == 0
    except OSError:
        return False


def found(options):
    """{library: its class} of all that are here."""
    if not hasattr(options, "found"):
        on_gpu = options.device == "cuda"
        names = ON_A_GPU if on_gpu else ON_A_HOST
        options.found = {name: PYTHON[name] for name in names if is_there(name, options)}
        options.found.update({name: one for name, one in NATIVE.items() if name in options.libraries
                              and (one.ON_A_GPU if on_gpu else one.ON_A_HOST)})
    return options.found


def contestants(kind, options):
    """LIBRARY:SETTING of all that are found for a matrix of that kind, and for several right-hand sides."""
    return [f"{name}:{setting}" for name, solver in found(options).items() if options.rhs == 1 or solver.MANY
            for setting in solver.FOR[kind]]


def load(contestant, options):
    """The modules of a contestant, before it touches a device."""
    name = contestant.split(":", 1)[0]
    modules = {NEEDS.get(name), "cupy" if options.device == "cuda" else None} - {None}
    for module in sorted(modules):
        importlib.import_module(module)


def make(contestant, problem, options):
    name, setting = contestant.split(":", 1)
    if name in PYTHON:
        return PYTHON[name](problem, setting, options)
    return NATIVE[name](options.libraries[name], problem, setting, options)


def hardware(device):
    if device == "cuda":
        import cupy
        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"{model() or platform.machine()}, {os.cpu_count()} processors"


def model():
    """The processor by name; empty where the system does not say."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""
