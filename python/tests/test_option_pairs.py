# SPDX-License-Identifier: Apache-2.0
"""
Options that do not go together: the library's check, a solver in C and in Python, the command line and PETSc refuse
the same pairs in the same words, but for how each spells an option.
"""
import ctypes
import functools
import os
import re
import subprocess

import pytest

import tessera_sparse as ts
from tessera_sparse import _abi
from tessera_sparse._errors import spelled
from tessera_sparse._library import enum_values, lib
from tessera_sparse._options import listed_options, new_options

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A value of each type that is not its default.
VALUES = {"bytes": "500M", "seed": "7", "flag": "1", "text": "some.file", "role": "fp32/fp64", "precision": "fp32",
          "schedule": "fp32:20,mixed,fp64", "precisions": "fp32,fp16", "policy": "mean-3std:0.25",
          "levels": "fp64,fp16:scaled", "share": "at-most-one", "triangular": "sweeps:2",
          "factorization": "sweeps:4"}
SOLVERS = ["cg", "gmres", "minres", "idr", "lsqr", "auto", "jacobi"]
PRECONDS = ["ilu0", "none", "amg", "block-jacobi", "lu", "polynomial", "auto", "jacobi-sweeps"]
MOST = 4  # methods for an option
RULES = [  # of several options
    {"solver": "lsqr", "precond": "ilu0"}, {"solver": "jacobi", "precond": "ic0"},
    {"solver": "gmres", "precond": "lu", "precond-precision": "fp16/fp32"},
    {"solver": "gmres", "precond": "ilu0", "precond-precision": "fp32/fp32"},
    {"solver": "gmres", "precond": "ilu0", "leaf": "64"},
    {"solver": "lsmr", "precond": "none", "scale": "rows"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "classical", "amg-format": "scalar"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "classical", "amg-block-size": "2"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "classical", "amg-modes": "2"},
    {"solver": "gmres", "precond": "amg", "amg-restriction": "air", "amg-modes": "2"},
    {"solver": "gmres", "precond": "amg", "amg-smoother": "fc-jacobi", "amg-block-size": "2"},
    {"solver": "cg", "precond": "amg", "amg-split": "ruge-stueben", "amg-format": "scalar"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "aggregation", "amg-aggressive": "1"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "aggregation", "amg-truncation": "3"},
    {"solver": "gmres", "precond": "amg", "amg-coarsening": "aggregation", "amg-smoother": "fc-jacobi"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "plain", "amg-split": "pmis"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "plain", "amg-restriction": "transpose"},
    {"solver": "cg", "precond": "amg", "amg-coarsening": "plain", "amg.max-row-sum": "0.9"},
    {"solver": "cg", "precond": "amg", "amg-block-size": "2", "amg-truncation": "3"},
    {"solver": "cg", "precond": "amg", "amg-modes": "2", "amg-aggressive": "1"},
    {"solver": "gmres", "precond": "saddle", "amg-coarsening": "plain", "amg-truncation": "3"},
    {"solver": "gmres", "precond": "saddle", "saddle-a-precond": "lu", "schur-precond": "jacobi", "amg-degree": "3"},
] + [{"solver": solver, "precond": precond, "amg-cycle": "k"} for precond in ("amg", "saddle")
     for solver in ("cg", "bicgstab", "gmres", "minres", "idr", "nested")]
STORAGE_RULES = [
    {"solver": "cg", "precond": "none", "format": "csr", "max-padding": "5"},
    {"solver": "cg", "precond": "none", "format": "ellr", "sell-window": "64"},
    {"solver": "cg", "precond": "none", "format": "split", "policy": "mean-range", "max-padding": "5"},
    {"solver": "cg", "precond": "none", "format": "sell", "base": "ellr"},
    {"solver": "cg", "precond": "none", "format": "tiles", "policy": "mean-range", "granularity": "row"},
    {"solver": "cg", "precond": "none", "format": "composite", "policy": "mean-range", "granularity": "block"},
    {"solver": "cg", "precond": "none", "format": "auto", "policy": "lossless", "granularity": "matrix"},
    {"solver": "cg", "precond": "none", "format": "dia", "policy": "mean-range"},
]


def value_of(option):
    if option.type == "words":
        return option.words[1]
    if option.type.startswith("tess_"):
        words = option.words if option.words[0] else enum_values(option.type)
        return next(word for word in words if word not in (option.standard, "shell"))
    if option.type in VALUES:
        return VALUES[option.type]
    number = option.low + 1 if option.low + 1 <= option.high else option.high / 2
    return f"{number if f'{number:g}' != option.standard else number + 1:g}"


def options_of(words):
    options, message = new_options(), ctypes.create_string_buffer(_abi.TESS_OPTION_TEXT)
    for name, value in words.items():
        assert lib.tess_options_set(ctypes.byref(options), name.encode(), value.encode(), message, len(message)) == 0, \
            message.value
    return options


def check(words):
    """What tess_options_check says; "": nothing."""
    message, options = ctypes.create_string_buffer(_abi.TESS_OPTION_TEXT), options_of(words)
    status = lib.tess_options_check(ctypes.byref(options), message, len(message))
    assert status == (_abi.TESS_INVALID_ARGUMENT if message.value else 0)
    return message.value.decode()


def message_of(error):
    """Without a hint."""
    return str(error).partition("\n  hint: ")[0]


@functools.lru_cache(None)
def pairs():
    """[(options as words of the command line, what the library says)]: each option beside methods it is not for."""
    found = []
    for option in listed_options():
        of_precond = option.scope == _abi.TESS_OPTION_OF_PRECOND
        kinds = [{"solver": "gmres", "precond": kind} for kind in PRECONDS] if of_precond else [
            {"solver": kind, "precond": "none"} for kind in SOLVERS]
        if option.needs:
            words = [dict(kind, **{option.name: value_of(option)}) for kind in kinds]
            told = [(w, check(w)) for w in words]
            unfit = [(w, text) for w, text in told
                     if re.match(rf"--{re.escape(option.name)} (is for|needs) {re.escape(option.needs)}$", text)]
            assert unfit, f"{option.name}: no method that it is not for"
            found += unfit[:MOST]
    return found + [(words, check(words)) for words in RULES + STORAGE_RULES]


def test_each_option_with_a_need_has_pairs():
    assert len(pairs()) > 80 and all(text for _, text in pairs())


def test_c_and_python_refuse_in_the_words_of_the_check():
    A, solver = ts.Matrix.gallery("laplace2d", 4), ctypes.c_void_p()
    for words, text in pairs():
        options = options_of(words)
        status = lib.tess_solver_create(A.pointer, ctypes.byref(options), ctypes.byref(solver))
        error = ctypes.cast(lib.tess_context_last_error(A.context.pointer), ctypes.POINTER(_abi.tess_error)).contents
        assert status == _abi.TESS_INVALID_ARGUMENT and error.message.decode() == text, words
        keywords = {spelled("--" + name): value for name, value in words.items()}
        numbers = {name: float(value) for name, value in keywords.items() if re.fullmatch(r"[\d.e+-]+", value)}
        with pytest.raises(ValueError) as raised:
            ts.Solver(A, **{**keywords, **numbers})
        assert message_of(raised.value) == spelled(text), words


def test_preconditioners_refuse_alike():
    A = ts.Matrix.gallery("laplace2d", 4)
    of_precond = {option.name for option in listed_options() if option.scope == _abi.TESS_OPTION_OF_PRECOND}
    for words, text in pairs():
        names = [name for name in words if name not in ("solver", "precond")]
        if words["precond"] in ("none", "auto") or not names or not of_precond.issuperset(names) or "leaf" in names or \
                "--solver" in text:
            continue
        given = {spelled("--" + name): float(words[name]) if re.fullmatch(r"[\d.e+-]+", words[name]) else words[name]
                 for name in names}
        with pytest.raises(ValueError) as raised:
            ts.Preconditioner(A, words["precond"], **given)
        assert message_of(raised.value) == spelled(text), words


def program(variable, path):
    found = os.environ.get(variable) or os.path.join(ROOT, path)
    if not os.path.exists(found):
        pytest.skip(f"{path} is not built, and {variable} names none")
    return found


def test_the_command_line_refuses_alike():
    tool = program("TESSERA_TOOL", "build/release/tessera")
    tool_has = {option.name for option in listed_options() if option.section != _abi.TESS_SECTION_NONE}
    for words, text in pairs():
        if words.keys() <= tool_has:
            given = [word for name, value in words.items()
                     for word in ([f"--{name}"] if name == "allow-underflow" else [f"--{name}", value])]
            done = subprocess.run([tool, "solve", "gallery:laplace2d:4", "--device", "cpu", *given],
                                  capture_output=True, text=True)
            assert done.returncode == 2 and text in done.stderr, (given, text, done.stderr)


def petscs(text):
    """A message with options as PETSc has them."""
    def name(match):
        buffer = ctypes.create_string_buffer(64)
        lib.tess_option_petsc(lib.tess_option_find(match[1].encode()), buffer, len(buffer))
        return buffer.value.decode()
    return re.sub(r"--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)", name, text)


def petscs_options(words):
    """`-pc_type none`, or tessera where a preconditioner of the library is named."""
    given = {name: value for name, value in words.items() if (name, value) != ("precond", "none")}
    of_precond = any(lib_option.scope == _abi.TESS_OPTION_OF_PRECOND for lib_option in listed_options()
                     if lib_option.name in given)
    if of_precond:
        given = words
    stored = ["-mat_type tessera"] if "format" in words else []
    return " ".join(stored + [f"-pc_type {'tessera' if of_precond else 'none'}"] +
                    [f"{petscs('--' + name)} {value}" for name, value in given.items()])


def test_petsc_refuses_alike():
    runner = program("TESSERA_PETSC_REFUSALS", "build/release/tests/petsc_refusals")
    lines = [petscs_options(words) for words, _ in pairs()]
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run([runner], input="\n".join(lines) + "\n", capture_output=True, text=True, env=environment)
    told = done.stdout.splitlines()
    assert len(told) == len(lines), done.stderr
    for line, (words, text), said in zip(lines, pairs(), told):
        if words.get("amg-cycle") == "k" and words["precond"] == "saddle":  # the PC is made first, and fails
            assert "saddle" in said, line
        elif words.get("amg-cycle") == "k":
            assert "needs a linear preconditioner, but a K cycle" in said and "-ksp_tessera_solver fgmres" in said, line
        else:
            assert said == petscs(text), (line, words)
