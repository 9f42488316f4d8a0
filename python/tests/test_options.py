# SPDX-License-Identifier: Apache-2.0
"""Options have the names of the command line, and reach what they name."""
import decimal
import fractions
import os
import re

import numpy as np
import pytest

import tessera_sparse as ts
from tessera_sparse._errors import spelled
from tessera_sparse._multigrid import ARRAYS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files, reports and the tool itself, x0 and b, and studies of papers, which the package leaves to the tool.
OTHERS = set("""threads json force checkpoint checkpoint-every resume explain rhs seed initial-guess output history html
                preset kernel tcki-thresholds layout narrowing narrowing-epsilon system""".split())


def words_of_the_command_line():
    """Options of a solve and of storage in docs/reference/command-line.md, which a test of its own holds to --help."""
    with open(os.path.join(ROOT, "docs/reference/command-line.md"), encoding="utf-8") as file:
        text = file.read()
    words = set()
    for name in ("Options of every command", "solve"):
        section = re.search(rf"^## {name}\n(.*?)^##", text, re.S | re.M).group(1)
        for row in re.findall(r"^\| (`--.*?) \|", section, re.M):
            words.update(re.findall(r"`--([a-z][a-z0-9-]*)", row))
    return words - {"amg-"}  # a row for all of them


def test_each_word_of_the_command_line_is_an_option():
    words, names = words_of_the_command_line(), ts.option_names()
    assert len(words) > 60 and OTHERS <= words
    assert {word for word in words if word.replace("-", "_") not in names} == OTHERS


def options_of(**options):
    return ts.Solver(ts.Matrix.gallery("laplace2d", 10), **options).options


def test_words_reach_what_they_name():
    assert options_of(solver="cg", precond="amg", amg_degree=3, amg_block_size=2).precond.amg.degree == 3
    assert options_of(solver="cg", precond="amg", amg_block_size=2).precond.amg.block_size == 2
    assert options_of(solver="gmres", precond="polynomial:5", polynomial_form="powers").precond.polynomial.form == 1
    assert options_of(solver="cg", format="sell", sell_window=64).storage.slices.window == 64
    # With solver auto a format that is named, csr too, is kept.
    given = [options_of(**words).automatic.format_given for words in ({}, {"format": "auto"}, {"format": "csr"})]
    assert given == [0, 0, 1]
    policy = options_of(solver="cg", format="split", policy="error-bound:1e-7:matrix").storage.policy
    assert policy.parameter == 1e-7 and policy.matrix_norm == 1
    policy = options_of(solver="cg", format="tiles", policy="mean-range", block="16x32").storage.policy
    assert (policy.block_rows, policy.block_cols) == (16, 32)
    sweeps = options_of(solver="cg", precond="jacobi-sweeps:4", precond_omega=0.5, precond_share=50,
                        precond_steps="fp32,fp64", precond_format="composite", precond_policy="fixed-range:2",
                        precond_levels="fp64,fp32").precond.jacobi_sweeps
    assert (sweeps.count, sweeps.omega, sweeps.storage.policy.share) == (4, 0.5, 50.0)
    assert sweeps.storage.policy.parameter == 2.0 and sweeps.storage.policy.nlevels == 2
    squares = options_of(solver="bicgstab", precond="ilu0", triangular="blocks", precond_policy="mean-range:0.2",
                         precond_format="tiles", precond_levels="fp64,fp16").precond.incomplete.squares
    assert squares.policy.parameter == 0.2 and squares.format > 0 and squares.policy.nlevels == 2


@pytest.mark.parametrize("options,text", [
    ({"block": "8x8"}, "16x16"), ({"precond_format": "x"}, "precond_format"), ({"precond_policy": "x"}, "'x'"),
    ({"precond_levels": "x"}, "precond_levels"), ({"polynomial_form": "x"}, "roots"),
])
def test_wrong_words_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        options_of(**options)


def test_jacobi_sweeps_precondition():
    A, b = ts.Matrix.gallery("laplace2d", 30), np.ones(900)
    few = ts.solve(A, b, solver="cg", precond=ts.jacobi_sweeps(A, 4), rtol=1e-8)
    assert few.verified and few.iterations < ts.solve(A, b, solver="cg", precond="jacobi", rtol=1e-8).iterations


def test_approximate_inverses_precondition():
    A, b = ts.Matrix.gallery("laplace2d", 30), np.ones(900)
    plain = ts.solve(A, b, solver="cg", precond="jacobi", rtol=1e-8)
    for kind, solver in ((ts.fsai, "cg"), (ts.isai, "bicgstab")):
        m = kind(A, 3, inverse_filter=0.1, inverse_row=16, precond_precision="fp16/fp64")
        few = ts.solve(A, b, solver=solver, precond=m, rtol=1e-8)
        assert few.verified and few.iterations < 0.7 * plain.iterations
        assert 900 < m.factors["nonzeros"] <= 900 * 16
    grown = ts.fsai(A, "adaptive", inverse_steps=2, inverse_step_size=2, inverse_tolerance=0.01)
    few = ts.solve(A, b, solver="cg", precond=grown, rtol=1e-8)
    assert few.verified and few.iterations < 0.7 * plain.iterations
    assert 900 < grown.factors["nonzeros"] <= 900 * 5


def test_names_are_words_of_the_command_line_paths_and_last_words():
    amg, gmres = {"solver": "cg", "precond": "amg"}, {"solver": "gmres"}
    for name in ("truncation", "amg_truncation", "precond_amg_truncation"):
        assert options_of(**amg, **{name: 3}).precond.amg.truncation == 3
    for name in ("restart", "gmres_restart"):
        assert options_of(**gmres, **{name: 7}).gmres.restart == 7
    assert options_of(**amg, amg_seed=2 ** 63).precond.amg.seed == 2 ** 63  # "seed" may be that of polynomial, too
    with pytest.raises(TypeError, match="there is no option 'seed'"):
        options_of(**amg, seed=3)
    assert options_of(solver="gmres", precond="iluk", level=3).precond.threshold.level == 3
    assert options_of(solver="gmres", block_jacobi_block_size=4, precond="block-jacobi").precond.block_jacobi \
        .block_size == 4


def test_values_are_texts_numbers_and_lists():
    amg = {"solver": "cg", "precond": "amg"}
    for precisions in ("fp32,fp16", ["fp32", "fp16"], ("fp32", "fp16")):
        assert options_of(**amg, amg_precision=precisions).precond.amg.level_precision[:3] == [2, 3, 0]
    assert options_of(solver="gmres_ir").solver == options_of(solver="gmres-ir").solver > 0
    assert options_of(solver="cg", timings=True).timings == options_of(solver="cg", timings="on").timings == 1
    assert [options_of(**words).return_last for words in ({"return_last": 1}, {"iterate": "last"})] == [1, 1]
    assert options_of(choices=None).automatic.choices is None
    solver = ts.Solver(ts.Matrix.gallery("laplace2d", 10), choices="none")  # holds the text
    assert solver.options.automatic.choices == b"none"
    assert options_of(precision=1).automatic.fp64_only == options_of(precision="fp64").automatic.fp64_only == 1
    assert options_of(solver="cg", rtol=np.float32(0.5), max_iterations=np.int64(7)).max_iterations == 7
    assert options_of(solver="cg", rtol=1.5).rtol == 1.5
    # numbers that stand for auto
    for name, number in (("amg_strength", -1), ("amg_aggressive", -1), ("amg_block_size", 0)):
        assert bytes(options_of(**amg, **{name: number})) == bytes(options_of(**amg, **{name: "auto"}))
    for size in (2 ** 30, "1G"):
        assert options_of(solver="gmres", precond="lu", factor_memory=size).precond.direct.memory_limit == 2 ** 30


def test_none_is_the_default():
    for base in ({}, {"solver": "gmres", "precond": "amg"}, {"solver": "idr", "precond": "ilut"}):
        plain = bytes(options_of(**base))
        names = [name for name in ts.option_names() if name not in {*base, "monitor", "last_iterate", *ARRAYS}]
        assert bytes(options_of(**base, **{name: None for name in names})) == plain
    assert options_of(solver=None, precond=None).solver == 0
    assert options_of(solver="cg", precond="jacobi", drop=None, level=None).precond.kind == 1  # for other names
    with pytest.raises(TypeError, match="there is no option"):
        options_of(no_such_option=None)


@pytest.mark.parametrize("number", [np.float32(7), np.int8(7), np.uint64(7), np.array(7), np.array([7.0]), True + 6,
                                    decimal.Decimal(7), fractions.Fraction(14, 2)])
def test_numbers_of_all_kinds(number):
    given = options_of(solver="gmres", max_iterations=number, time_limit=number, divergence_tolerance=number)
    assert (given.max_iterations, given.time_limit, given.divergence_tolerance) == (7, 7.0, 7.0)
    assert options_of(solver="idr", s=number).idr.s == 7
    assert options_of(solver="cg", precond="amg", amg_seed=number).precond.amg.seed == 7
    assert options_of(time_limit="auto").time_limit == options_of(time_limit=0).time_limit == 0.0
    assert options_of(solver="cg", timings=np.bool_(True)).timings == 1


@pytest.mark.parametrize("wrong", [
    {"restart": "30"}, {"rtol": "1e-8"}, {"time_limit": "3"}, {"amg_seed": "3"}, {"drop": "half"}, {"drop": "auto"},
    {"max_iterations": 0.5}, {"max_iterations": float("inf")}, {"max_iterations": float("nan")}, {"rtol": 1j},
    {"rtol": np.complex128(1)}, {"rtol": [1e-3]}, {"rtol": np.array([1, 2])}, {"rtol": b"1"}, {"s": object()}])
def test_what_is_no_number(wrong):
    (name, value), = wrong.items()
    with pytest.raises(TypeError, match="^" + re.escape(f"{name}={value!r} is no ") + "(whole )?number"):
        options_of(**wrong)


@pytest.mark.parametrize("wrong", [{"solver": b"cg"}, {"solver": 3.5}, {"precond_format": 1}, {"choices": 3},
                                   {"factor_memory": 1j}])
def test_what_is_no_text(wrong):
    with pytest.raises(TypeError, match="is no text"):
        options_of(**wrong)


def test_a_preconditioner_has_its_options_alone():
    A = ts.Matrix.gallery("laplace2d", 10)
    with pytest.raises(TypeError, match="'rtol' is an option of a solve"):
        ts.ilu0(A, rtol=1e-8)
    with pytest.raises(ValueError, match="amg_cycle is for precond amg"):
        ts.ilu0(A, amg_cycle="w")
    for given in (ts.ilu0(A), lambda r: r):
        with pytest.raises(ValueError, match="triangular is for a preconditioner that is named"):
            ts.Solver(A, solver="gmres", precond=given, triangular="levels")


def test_messages_have_the_names_of_keywords():
    assert spelled("--amg-cycle is for --precond amg") == "amg_cycle is for precond amg"
    assert spelled("leave out --amg.max-levels. a--b, ---, -- and --9") == "leave out amg_max_levels. a--b, ---, -- " \
        "and --9"


@pytest.mark.parametrize("name, value, kind", [("s", 3, "idr"), ("drop", 0.1, "ilut"), ("fill", 4.0, "ict"),
                                               ("level", 2, "iluk"), ("count", 2, "jacobi-sweeps"),
                                               ("power", 3, "fsai"), ("polynomial_degree", 4, "polynomial"),
                                               ("block_jacobi_block_size", 2, "block-jacobi")])
def test_a_number_within_a_name_needs_the_name(name, value, kind):
    with pytest.raises(ValueError, match=f"{name} is . of "):
        options_of(solver="cg", precond="jacobi", **{name: value})
    named = {"solver": kind} if name == "s" else {"solver": "gmres", "precond": kind}
    options_of(**named, **{name: value})
