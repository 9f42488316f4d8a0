# SPDX-License-Identifier: Apache-2.0
"""Options have the names of the command line, and reach what they name."""
import os
import re

import numpy as np
import pytest

import tessera_sparse as ts

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
