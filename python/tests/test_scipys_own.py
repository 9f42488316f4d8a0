# SPDX-License-Identifier: Apache-2.0
"""
SciPy's own tests of its iterative solvers, run against ours. SciPy's module is loaded with our functions in place of
its own; those that do not apply are in scipy_does_not_apply.txt, each with the reason.
"""
import fnmatch
import importlib.util
import os
import warnings

import pytest

pytest.importorskip("scipy")
import scipy.sparse.linalg._isolve as isolve  # noqa: E402

import tessera_sparse as ts  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = {name: getattr(ts, name) for name in ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres",
                                             "qmr", "tfqmr")}
TESTS = os.path.join(os.path.dirname(isolve.__file__), "tests")


def read_exceptions():
    with open(os.path.join(HERE, "scipy_does_not_apply.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [tuple(part.strip() for part in line.split("|", 1)) for line in lines]


EXCEPTIONS = read_exceptions()


def why_not(name):
    return next((reason for pattern, reason in EXCEPTIONS if fnmatch.fnmatchcase(name, pattern)), None)


def load(name, replace):
    """SciPy's test module, executed with our functions in the place of SciPy's."""
    specification = importlib.util.find_spec(f"scipy.sparse.linalg._isolve.tests.{name}")
    if specification is None:
        return None
    with open(specification.origin, encoding="utf-8") as file:
        source = file.read()
    module = importlib.util.module_from_spec(specification)
    saved = {key: getattr(isolve, key) for key in replace}
    try:
        for key, function in replace.items():
            setattr(isolve, key, function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # marks that only SciPy's own pytest settings know
            exec(compile(source, specification.origin, "exec"), module.__dict__)
    finally:
        for key, function in saved.items():
            setattr(isolve, key, function)
    return module


ITERATIVE = load("test_iterative", OURS)
SOLVERS = [ITERATIVE._SOLVERS[k] for k in range(len(ITERATIVE._SOLVERS)) if ITERATIVE._SOLVERS[k] in OURS.values()]
ITERATIVE._SOLVERS[:] = SOLVERS
CASES = [case for case in ITERATIVE.cases if case.solver in SOLVERS]
BY_CASE = ["test_maxiter", "test_convergence", "test_precond_dummy", "test_x0_equals_Mb"]
BY_SOLVER = ["test_atol", "test_zero_rhs", "test_x0_working", "test_x0_solves_problem_exactly", "test_positional_error"]
OF_GMRES = [name for name in dir(ITERATIVE.TestGMRES) if name.startswith("test_")]


def skip_if_not_applicable(name):
    reason = why_not(name)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("name", BY_CASE)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.filterwarnings("ignore")
def test_case(name, case):
    skip_if_not_applicable(f"{name}-{case.name}")
    getattr(ITERATIVE, name)(case)


@pytest.mark.parametrize("name", BY_SOLVER)
@pytest.mark.parametrize("solver", SOLVERS, ids=[solver.__name__ for solver in SOLVERS])
def test_solver(name, solver):
    skip_if_not_applicable(f"{name}-{solver.__name__}")
    getattr(ITERATIVE, name)(solver)


@pytest.mark.parametrize("atol", ["legacy", None, -1])
@pytest.mark.parametrize("solver", SOLVERS, ids=[solver.__name__ for solver in SOLVERS])
def test_invalid_atol(solver, atol):
    ITERATIVE.test_invalid_atol(solver, atol)


@pytest.mark.parametrize("case", [case for case in ITERATIVE.IterativeParams().cases
                                  if case.name in ("poisson1d", "poisson2d")], ids=lambda case: case.name)
def test_precond_inverse(case):
    skip_if_not_applicable(f"test_precond_inverse-{case.name}")
    ITERATIVE.test_precond_inverse(case)


@pytest.mark.parametrize("name", OF_GMRES)
@pytest.mark.filterwarnings("ignore:.*callback_type.*:DeprecationWarning")
def test_gmres(name):
    skip_if_not_applicable(f"TestGMRES-{name}")
    getattr(ITERATIVE.TestGMRES(), name)()


def test_of_each_module():
    """lsqr, lsmr and minres have modules of their own, whose functions take no arguments."""
    assert LEAST, "SciPy's tests of lsqr, lsmr and minres were not found"


def _functions():
    found = []
    for name, replace in (("test_lsqr", {"lsqr": ts.lsqr}), ("test_lsmr", {"lsmr": ts.lsmr}),
                          ("test_minres", {"minres": ts.minres})):
        module = _load_least(name, replace)
        if module is None:
            continue
        for key in sorted(dir(module)):
            value = getattr(module, key)
            if key.startswith("test_") and callable(value):
                found.append((f"{name}-{key}", value))
            elif isinstance(value, type) and key.startswith("Test"):
                found += [(f"{name}-{key}-{part}", (value, part)) for part in dir(value) if part.startswith("test_")]
    return found


def _load_least(name, replace):
    import scipy.sparse.linalg
    saved = {key: getattr(scipy.sparse.linalg, key) for key in replace}
    try:
        for key, function in replace.items():
            setattr(scipy.sparse.linalg, key, function)
        module = load(name, {})
        for key, function in replace.items():
            setattr(module, key, function)
        return module
    finally:
        for key, function in saved.items():
            setattr(scipy.sparse.linalg, key, function)


LEAST = _functions()


@pytest.mark.parametrize("name,function", LEAST, ids=[name for name, _ in LEAST])
def test_least(name, function):
    skip_if_not_applicable(name)
    if not isinstance(function, tuple):
        function()
        return
    kind, part = function
    instance = kind()
    if hasattr(instance, "setup_method"):
        instance.setup_method()
    getattr(instance, part)()
