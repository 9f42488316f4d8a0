# SPDX-License-Identifier: Apache-2.0
"""report.py contest on made-up records: means, counts and the worst ratio; what does not count; the tables."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from reporting import contest  # noqa: E402 (found by the line above)

HEAD = {"program": "contest.py", "commit": "0123abc", "device": "cpu", "hardware": "invented", "threads": 2,
        "date": "2026-01-01T00:00:00Z"}


def solve(problem, contestant, cold, warm, joules=None, **others):
    """A verified solve, of which a part is set-up."""
    return {"problem": problem, "contestant": contestant, "device": "cpu", "rtol": 1e-8, "rhs": 1, "n": 10, "nnz": 28,
            "kind": "spd", "version": contestant.split(":")[0] + " 1", "cold": [0.25 * cold, 0.75 * cold],
            "warm": [0.5 * warm, 0.5 * warm], "joules": joules, "claimed": True, "solved": True, "false_claim": False,
            **others}


def failure(problem, contestant):
    return {"problem": problem, "contestant": contestant, "device": "cpu", "rtol": 1e-8, "rhs": 1, "failure": "crash"}


WRONG = {"solved": False, "false_claim": True}
HONEST = {"solved": False, "claimed": False}
RECORDS = [
    # ours is twice as fast as the fastest peer by auto, four times by name; a faster false claim does not count
    solve("grid", "tessera:auto", 2.0, 1.0, 8.0), solve("grid", "tessera:cg-amg", 4.0, 0.5, 4.0),
    solve("grid", "alpha:slow", 16.0, 9.0, 12.0), solve("grid", "alpha:fast", 8.0, 2.0, 16.0),
    solve("grid", "beta:cg", 0.1, 0.1, 0.1, **WRONG),
    # eight times slower
    solve("wind", "tessera:auto", 8.0, 8.0), solve("wind", "alpha:fast", 1.0, 4.0), solve("wind", "beta:cg", 2.0, 1.0),
    # nobody; a peer alone; ours alone
    solve("hard", "tessera:auto", 1.0, 1.0, **HONEST), failure("hard", "alpha:fast"),
    solve("theirs", "tessera:auto", 1.0, 1.0, **HONEST), solve("theirs", "beta:cg", 3.0, 3.0),
    solve("ours", "tessera:auto", 1.0, 1.0), failure("ours", "beta:cg"), failure("ours", "alpha:fast"),
]


class Summary(unittest.TestCase):
    def setUp(self):
        self.summary = contest.summarise(RECORDS)

    def test_means_and_counts(self):
        cold, warm = (self.summary["measures"][name] for name in ("cold", "warm"))
        self.assertEqual((cold["solved"], warm["solved"]), (4, 4))  # all but the hard one
        self.assertAlmostEqual(cold["auto"]["mean"], (8 / 2 * 1 / 8) ** 0.5)
        self.assertAlmostEqual(warm["auto"]["mean"], (2 / 1 * 1 / 8) ** 0.5)
        self.assertAlmostEqual(warm["best"]["mean"], (2 / 0.5 * 1 / 8) ** 0.5)
        self.assertEqual([warm[name]["both"] for name in ("auto", "best")], [2, 2])
        self.assertEqual([warm[name]["first"] for name in ("auto", "best")], [2, 2])  # grid, and what ours alone solves
        self.assertEqual((warm["auto"]["worst"], warm["auto"]["worst_problem"], warm["auto"]["worst_peer"]),
                         (0.125, "wind", "beta:cg"))

    def test_the_fastest_setting_depends_on_the_measure(self):
        cells = {name: found["lines"]["grid"]["cells"] for name, found in self.summary["measures"].items()}
        self.assertEqual([cells[name]["alpha"] for name in ("cold", "warm", "joules")],
                         [(8.0, "fast"), (2.0, "fast"), (12.0, "slow")])
        self.assertEqual(cells["warm"]["by name"], (0.5, "cg-amg"))
        self.assertEqual(cells["cold"]["auto"], (2.0, "auto"))
        self.assertNotIn("beta", cells["cold"])

    def test_energy(self):
        joules = self.summary["measures"]["joules"]
        self.assertEqual((joules["solved"], joules["auto"]["both"]), (1, 1))
        self.assertAlmostEqual(joules["auto"]["mean"], 1.5)
        self.assertAlmostEqual(joules["best"]["mean"], 3.0)

    def test_no_energy_no_table(self):
        without = contest.summarise([solve("grid", "tessera:auto", 1, 1)])
        self.assertEqual(list(without["measures"]), ["cold", "warm"])
        self.assertEqual(without["measures"]["warm"]["auto"]["first"], 1)

    def test_a_tie_is_no_loss(self):
        tie = contest.summarise([solve("grid", "tessera:auto", 1, 1), solve("grid", "beta:cg", 1, 1)])
        self.assertEqual(tie["measures"]["warm"]["auto"]["first"], 1)

    def test_how_runs_end(self):
        self.assertEqual(self.summary["libraries"], {
            "tessera": {"runs": 6, "solved": 4, "false": 0, "short": 2, "failed": 0},
            "alpha": {"runs": 5, "solved": 3, "false": 0, "short": 0, "failed": 2},
            "beta": {"runs": 4, "solved": 2, "false": 1, "short": 0, "failed": 1}})
        self.assertEqual(self.summary["solved by"],
                         {"nobody": ["hard"], "only peers": ["theirs"], "only ours": ["ours"]})

    def test_problems_that_differ_by_their_right_hand_sides(self):
        many = contest.summarise([solve("grid", "tessera:auto", 1, 1), solve("grid", "tessera:auto", 3, 3, rhs=32)])
        self.assertEqual({name: line["cells"]["auto"][0] for name, line in many["measures"]["warm"]["lines"].items()},
                         {"grid": 1.0, "grid, 32 right-hand sides": 3.0})


class Report(unittest.TestCase):
    def report(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "host.jsonl", pathlib.Path(folder) / "summary.json"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                self.assertEqual(contest.main([str(path), "--json", str(out)]), 0)
            return printed.getvalue(), json.loads(out.read_text(encoding="utf-8"))

    def test_tables(self):
        text, summary = self.report([HEAD, *RECORDS, {"problem": "gone", "device": "cpu", "skipped": "no file"}])
        for line in ("| warm | `auto` | 2 of 4 | 0.5 | 2 | 0.125 wind, beta:cg |",
                     "| grid | 1 s | **500 ms cg-amg** | 2 s fast | - |", "| hard | - | - | - | - |",
                     "| theirs | - | - | - | **3 s cg** |", "| beta | 4 | 2 | 1 | 0 | 1 |", "Solved by nobody: hard.",
                     "Skipped: gone: no file",
                     "- contest.py, commit 0123abc, 2026-01-01T00:00:00Z, invented, cpu, 2 threads"):
            self.assertIn(line + "\n", text)
        self.assertAlmostEqual(summary["measures"]["warm"]["auto"]["mean"], 0.5)

    def test_a_later_record_counts(self):
        _, summary = self.report([HEAD, solve("grid", "tessera:auto", 1, 1), HEAD, solve("grid", "tessera:auto", 5, 5)])
        self.assertEqual(summary["measures"]["warm"]["lines"]["grid"]["cells"]["auto"][0], 5.0)
        self.assertIsNone(summary["measures"]["warm"]["auto"]["mean"])  # no peer


if __name__ == "__main__":
    unittest.main()
