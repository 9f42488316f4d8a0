#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic that judges claims, on systems whose residuals are known; and that a wrong claim is found."""
import fractions
import json
import math
import pathlib
import random
import tempfile
import unittest

import exact
import systems
import tool

HELD = 2.0**100
ROD = [{0: HELD, 1: -1.0}, {0: -1.0, 1: 2.0, 2: -1.0}, {1: -1.0, 2: HELD}]  # ends held at 1 and 3


class Exact(unittest.TestCase):
    def test_residual(self):
        squares = exact.exact_residual([{0: 2.0, 1: 1.0}, {1: 4.0}], [3.0, 4.0], [1.0, 0.5])
        self.assertEqual(squares, (fractions.Fraction(1, 4) + 4, 25))

    def test_nothing_is_rounded(self):
        self.assertEqual(exact.exact_residual([{0: 1e200, 1: 1.0, 2: -1e200}], [1.0], [1.0, 1.0, 1.0]).residual, 0)
        tiny = exact.exact_residual([{0: 5e-324}], [0.0], [0.5])
        self.assertEqual(tiny.residual, fractions.Fraction(1, 2**2150))

    def test_limit_is_exact(self):
        self.assertTrue(exact.within(exact.exact_residual([{0: 1.0}], [4.0], [3.0]), 0.25))
        self.assertFalse(exact.within(exact.exact_residual([{0: 1.0}], [4.0], [math.nextafter(3.0, 0)]), 0.25))
        self.assertFalse(exact.within(exact.exact_residual([{0: 1.0}], [4.0], [math.nan]), 0.25))

    def test_rows_of_a_penalty(self):
        b = [HELD, 0.0, 3 * HELD]
        for x, small in (([1.0, 2.0, 3.0], True), ([1.0, 0.0, 3.0], False)):
            self.assertTrue(exact.within(exact.exact_residual(ROD, b, x), 1e-15))
            self.assertEqual(exact.within(exact.exact_row_scaled_residual(ROD, b, x), 1e-15), small)
        squares = exact.exact_row_scaled_residual(ROD, b, [1.0, 0.0, 3.0])
        self.assertEqual(squares, (4, 10))  # (-1 - 3)^2 over 2^2; 1 + 9
        self.assertAlmostEqual(exact.ratio(squares), math.sqrt(0.4), 15)

    def test_backward_error(self):
        self.assertEqual(exact.exact_backward_error(ROD, [HELD, 0.0, 3 * HELD], [1.0, 0.0, 3.0]), 1)
        self.assertEqual(exact.exact_backward_error([{0: 2.0}], [3.0], [1.0]), fractions.Fraction(1, 5))
        self.assertEqual(exact.exact_backward_error([{}], [0.0], [1.0]), 0)

    def test_tolerance_of_rows(self):
        for atol, within in ((4.0, True), (3.0, False)):  # the rows' residual is 4 of 4, of ||b|| = 4
            squares = exact.Squares(fractions.Fraction(16), fractions.Fraction(16))
            self.assertEqual(exact.rows_within(squares, squares, 0.5, atol), within)

    def test_empty_row_keeps_its_scale(self):
        self.assertEqual(exact.exact_row_scaled_residual([{}], [3.0], [1.0]), (9, 9))

    def test_least_squares(self):
        rows, b = [{0: 1.0}, {0: 1.0}], [0.0, 2.0]
        self.assertEqual(exact.exact_least_squares(rows, b, [1.0]), (0, 4))
        self.assertEqual(exact.exact_least_squares(rows, b, [0.0]), (4, 8))

    def test_norms_and_bounds(self):
        two = fractions.Fraction(2)
        self.assertTrue(exact.agrees(two, math.sqrt(2), 1e-15))
        self.assertFalse(exact.agrees(two, math.sqrt(2), 0.0))
        self.assertFalse(exact.agrees(two, 1.5, 0.08))

    def test_ratio_of_any_size(self):
        self.assertAlmostEqual(exact.ratio(exact.Squares(fractions.Fraction(9, 10**400), 1)) / 3e-200, 1, 14)


class Judge(unittest.TestCase):
    """tool.Run on reports made by hand."""

    def outcome(self, x, **changes):
        with tempfile.TemporaryDirectory() as folder:
            run = tool.Run("no tool", 1, 0, folder)
            run.system, run.columns = systems.System("test", [{0: 2.0}], True), [[4.0]]
            run.rtol, run.atol, run.stop_norm = 1e-3, 0.0, "given"
            report = {"exit_code": 0, "columns": None, "converged": True, "verified": True, "reason": "rtol",
                      "reason_code": 2, "residual_norm": abs(4 - 2 * x), "residual_bound": 1e-15,
                      "row_residual": None, **changes}
            tool.write_columns(pathlib.Path(folder, "x.mtx"), [[x]])
            pathlib.Path(folder, "result.json").write_text(json.dumps(report))
            return run.judge_result(0)[0]

    def test_outcomes(self):
        self.assertEqual(self.outcome(2.0), "right")
        self.assertEqual(self.outcome(1.9), "false")
        self.assertEqual(self.outcome(2.0, residual_norm=1e-3), "bound")
        self.assertEqual(self.outcome(2.0, exit_code=1), "invalid")
        self.assertEqual(self.outcome(2.0, converged=False), "invalid")

    def test_rows_are_judged(self):
        held = {"norm": 0.0, "bound": 0.0, "backward_error": 0.0, "backward_bound": 0.0}
        self.assertEqual(self.outcome(2.0, row_residual=held), "right")
        self.assertEqual(self.outcome(2.0, row_residual={**held, "norm": 1e-9}), "bound")
        self.assertEqual(self.outcome(2.0, row_residual={**held, "backward_error": 1e-9}), "bound")

    def test_verified_needs_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            run = tool.Run("no tool", 1, 0, folder)
        run.system, run.rtol, run.atol = systems.System("rod", ROD, True), 1e-12, 0.0
        claim = {"converged": True, "verified": True, "reason": "rtol", "reason_code": 2, "exit_code": 0,
                 "residual_norm": 4.0, "residual_bound": 1e-9, "row_residual": None}
        b, wrong = [HELD, 0.0, 3 * HELD], [1.0, 0.0, 3.0]
        for stop_norm, verified, outcome in (("given", True, "false"), ("given", False, "right"),
                                             ("rows", False, "false"), ("both", False, "false")):
            run.stop_norm = stop_norm
            claimed = {**claim, "verified": verified, "exit_code": 0 if verified else 1}
            self.assertEqual(run.judge_claim(claimed, b, wrong)[0], outcome)

    def test_seed_gives_the_same_system(self):
        one, two = (systems.make(random.Random("7/3")) for _ in range(2))
        self.assertEqual(one.rows, two.rows)


if __name__ == "__main__":
    unittest.main()
