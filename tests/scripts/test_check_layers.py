# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layers.py on made-up trees: a clean one passes; each rule, broken once, is told with file and line."""

import contextlib
import dataclasses
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402 (found by the line above)
from layer_checks import AllowedInclude  # noqa: E402

WIDE = "x" * 121
RULES = dataclasses.replace(check_layers.RULES, include_exceptions=())  # the trees here have no use for them
FEW = dataclasses.replace(RULES, most_dependents={"include/tessera/matrix.h": 2})

CLEAN = {
    "include/tessera/matrix.h": "/* cudaStream_t is named in a comment */\n",
    "include/tessera/codec.h": "switch (precision) {\n#if defined(__CUDACC__)\n",
    "src/base/errors.h": "",
    "src/device/device.h": '#include "base/errors.h"\ncudaMalloc(&p, 8); switch (v->precision) {\n',
    "src/format/csr/csr.h": '#include "base/errors.h"\n#include <tessera/matrix.h>\n'
    'case TESS_FORMAT_TILES: puts("/*"); return TESS_FORMAT_TILES;\n',
    "src/solver/solver.c": '#include "format/csr/csr.h"\n#include <stdio.h>\n'
    "/* TESS_FORMAT_TILES, TESS_HAVE_GPU\n   cudaMalloc */ use(TESS_FORMAT_CSR, TESS_FORMAT_AUTO); // hipMalloc\n",
    "src/registry/tables.c": '#include "solver/solver.h"\n#if TESS_HAVE_GPU\n',
    "src/solver/solver.h": "",
    "cli/main.c": '#include "cli.h"\n#include <tessera/matrix.h>\n',
    "cli/cli.h": "",
    "bench/product/formats.c": '#include "format/csr/csr.h"\ncudaMalloc(&p, 8); case TESS_FORMAT_TILES:\n',
    "tests/unit/test_csr.c": '#include "support/test.h"\n#include "format/csr/csr.h"\n',
    "tests/support/test.h": "",
    "docs/results/raw/log.md": WIDE + "\n",
    "docs/index.md": f"| {WIDE} |\n```\n{WIDE}\n```\nhttps://example.org/{WIDE}\n`no/such.c`\n",
    "CONTRIBUTING.md": "`src/format/csr/`, `format/<name>/<name>.h`, `csr.h:12`, `docs/{index,results/raw/log}.md`,\n"
    "`a/b`, `_host.c`, [index](docs/index.md#top), `build/x.c`, `tests/*/test_*.c`, [site](https://example.org)\n",
}


def check(files, *options, rules=RULES):
    """(exit status, printed lines) of the check over these files. Headers need no guards where they name none."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text += "/* Included once per test */\n" if name.endswith("h") and "guard" not in text else ""
            path.write_text(text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = check_layers.main(["--root", root, *options], rules)
    return status, out.getvalue().splitlines()


class CheckLayers(unittest.TestCase):
    def assert_found(self, files, *starts):
        """With these files instead, or beside, the clean ones: exactly the findings that begin so."""
        status, lines = check({**CLEAN, **files})
        found = [line for line in lines if not line.startswith("exceptions used") and "; findings: " not in line]
        self.assertEqual(status, 1)
        self.assertEqual(len(found), len(starts), found)
        for line, start in zip(found, starts):
            self.assertTrue(line.startswith(start), f"{line!r} does not begin with {start!r}")

    def test_clean(self):
        status, lines = check(CLEAN)
        self.assertEqual((status, lines[:-2]), (0, []))

    def test_include_upward(self):
        self.assert_found({"src/base/errors.h": '\n#include "solver/solver.h"\n'},
                          "src/base/errors.h:2: include: includes src/solver/solver.h; src/base may include its own")

    def test_include_of_registry(self):
        self.assert_found({"src/registry/tables.h": "", "src/papers/study.c": '#include "registry/tables.h"\n'},
                          "src/papers/study.c:1: include: includes src/registry/tables.h;")

    def test_include_of_papers(self):
        self.assert_found({"src/papers/study.h": "", "src/solver/solver.h": '#  include "../papers/study.h"\n'},
                          "src/solver/solver.h:1: include: includes src/papers/study.h;")

    def test_include_from_a_folder_outside_the_table(self):
        self.assert_found({"src/extra/more.c": '#include "base/errors.h"\n'},
                          "src/extra/more.c:1: include: includes src/base/errors.h; src/extra is not in the table")

    def test_include_of_internals_by_the_tool(self):
        self.assert_found({"cli/main.c": '#include <format/csr/csr.h>\n'},
                          "cli/main.c:1: include: includes src/format/csr/csr.h; cli may include its own")

    def test_include_of_tests_by_benchmarks(self):
        self.assert_found({"bench/product/formats.c": '#include "../tests/support/test.h"\n'},
                          "bench/product/formats.c:1: include: includes tests/support/test.h;")

    def test_include_of_nothing(self):
        self.assert_found({"cli/cli.h": '\n\n#include "lost.h"\n'}, 'cli/cli.h:3: include: "lost.h" is no file')

    def test_exceptions_of_includes(self):
        allowed = AllowedInclude("src/base/errors.h", "src/solver/solver.h", "a list of steps")
        files = {**CLEAN, "src/base/errors.h": '#include "solver/solver.h"\n'}
        rules = dataclasses.replace(check_layers.RULES, include_exceptions=(allowed,))
        status, lines = check(files, rules=rules)
        self.assertEqual((status, len(lines)), (0, 2))
        self.assertIn("exceptions used: include 1 of 1", lines[-1])
        self.assertIn("take the exception out", check(CLEAN, rules=rules)[1][0])
        others = tuple(AllowedInclude(f"src/base/{i}.h", "src/solver/solver.h", "more") for i in range(2))
        rules = dataclasses.replace(rules, include_exceptions=(allowed, *others), most_include_exceptions=2)
        status, lines = check(files, rules=rules)
        self.assertEqual(status, 1)
        self.assertIn("include-exceptions: 3 exceptions of includes; there may be 2", lines[0])

    def test_include_of_a_public_header_of_a_floor_above(self):
        public = {"include/tessera/solver.h": "#include <tessera/matrix.h>\n"}
        self.assert_found({**public, "src/base/errors.h": "#include <tessera/solver.h>\n",
                           "include/tessera/matrix.h": "\n#include <tessera/solver.h>\n",
                           "cli/main.c": "#include <tessera/solver.h>\n"},
                          "include/tessera/matrix.h:2: include: includes include/tessera/solver.h; src/dense may",
                          "src/base/errors.h:1: include: includes include/tessera/solver.h; src/base may include")
        self.assert_found({"include/tessera/new.h": "int x;\n", "src/base/errors.h": "#include <tessera/new.h>\n"},
                          "include/tessera/new.h:1: include: is not in the table of public headers")

    def test_definition_on_another_floor(self):
        header = '\nextern "C" {\nint size_of(const void *a);\nvoid stay(int a);\nint by_list(void);\n' \
                 "static inline int near(int a) { return size_of(a); }\n}\nextern int table;\n"
        source = "/* int stay(int a) { */\n#define STAY int stay(int a) {}\nstatic int stay(int a) { if (a) { b(); }}" \
                 "\nint size_of(const void *a)\n{\n    stay(1);\n}\nint table = size_of(0);\n"
        self.assert_found({"src/device/device.h": header, "src/format/csr/csr.c": source,
                           "src/device/stay.c": "void stay(int a) {}\n",
                           "src/registry/tables.c": "int by_list(void) {}"},
                          "src/device/device.h:3: definition: size_of is defined in src/format/csr/csr.c: declare")

    def test_dependents(self):
        files = {**CLEAN, "src/solver/more.c": '#include "solver/solver.h"\n#include "format/csr/csr.h"\n'}
        self.assertEqual(check(files, rules=FEW)[0], 0)
        files["src/device/third.cu"] = '#include "base/errors.h"\n'
        files["src/base/errors.h"] = "#include <tessera/matrix.h>\n"
        rules = dataclasses.replace(FEW, public_floors={**RULES.public_floors, "matrix.h": "base"})
        status, lines = check(files, rules=rules)
        self.assertEqual(status, 1)
        start = "include/tessera/matrix.h:1: dependents: 3 sources of src/ include it; there may be 2"
        self.assertTrue(lines[0].startswith(start), lines[0])
        status, lines = check(files, "--dependents", rules=rules)
        self.assertEqual(status, 0)
        self.assertIn(["include/tessera/matrix.h", "3", "of", "2"], [line.split() for line in lines])

    def test_circles(self):
        files = {"petsc/a.c": "int tp_a(void)\n{\n    return tp_b();\n}\n",
                 "petsc/b.c": "/* tp_c */\nint tp_b(void)\n{\n    return use(tp_c);\n}\n",
                 "petsc/c.c": 'static int tp_a(void);\nint tp_c(void)\n{\n    return puts("tp_b"); /* tp_b */\n}\n',
                 "petsc/tests/b.c": "int tp_c(void)\n{\n    return tp_b();\n}\n"}
        self.assertEqual(check({**CLEAN, **files, "petsc/c.c": files["petsc/c.c"].replace("tp_a", "own")})[0], 0)
        files["petsc/c.c"] += "int tp_d(void)\n{\n    return tp_a();\n}\n"
        self.assert_found(files, "petsc/a.c:1: circle: it and petsc/b.c, petsc/c.c need one another",
                          "petsc/b.c:1: circle: it and petsc/a.c, petsc/c.c need",
                          "petsc/c.c:1: circle: it and petsc/a.c, petsc/b.c need")

    def test_guards(self):
        right = "/* guard */\n#ifndef {0}\n#define {0}\nint x;\n#endif\n".format
        self.assert_found({"src/format/csr/csr.h": right("TESS_FORMAT_CSR_CSR_H"), "cli/cli.h": right("TESS_CLI_CLI_H"),
                           "include/tessera/matrix.h": right("TESSERA_MATRIX_H"),
                           "include/tessera/tessera.h": right("TESSERA_H"),
                           "src/solver/rows.cuh": right("TESS_SOLVER_ROWS_CUH"),
                           "src/base/errors.h": right("TESS_ERRORS_H"), "src/base/body.h": "/* no guard */\nint x;\n",
                           "src/base/all.h": '/* no guard */\n#include "base/errors.h"\n'},
                          "src/base/body.h:1: guard: its guard is none; by its path it would be TESS_BASE_BODY_H",
                          "src/base/errors.h:1: guard: its guard is TESS_ERRORS_H; by its path it would be TESS_BASE_")

    def test_name_of_a_format(self):
        self.assert_found({"src/solver/solver.h": "\nif (m->format == TESS_FORMAT_DIA) {\n",
                           "cli/main.c": "case TESS_FORMAT_SPLIT:\n"},
                          "cli/main.c:1: format-name: TESS_FORMAT_SPLIT: only",
                          "src/solver/solver.h:2: format-name: TESS_F")

    def test_name_of_what_is_in_papers(self):
        text = "\nint64_t resident_bytes;\nresident_ops_of(ctx);\nif (layout == TESS_LAYOUT_RESIDENT) {\n"
        self.assert_found({"src/solver/solver.h": text, "src/papers/study.c": text, "cli/main.c": text},
                          "src/solver/solver.h:3: papers-name: resident_ops_of: only src/registry",
                          "src/solver/solver.h:4: papers-name: TESS_LAYOUT_RESIDENT: only src/registry")

    def test_switch_on_a_precision(self):
        cases = "switch (f(v)->precision) {\n/* */\ncase TESS_PRECISION_FP64: return;\n" + "\n" * 6
        self.assert_found({"src/solver/solver.h": cases + "#define CASE(NAME) case TESS_PRECISION_##NAME:\n"},
                          "src/solver/solver.h:1: precision-switch: switch",
                          "src/solver/solver.h:10: precision-switch: case")

    def test_question_for_a_gpu(self):
        self.assert_found({"src/format/csr/csr.h": "#if TESS_HAVE_GPU\n"},
                          "src/format/csr/csr.h:1: gpu-test: TESS_HAVE_GPU")

    def test_names_of_vendors(self):
        text = "#include <cuda_runtime.h>\nhipMalloc(&p, 8);\nusing cooperative_groups;\n#if defined(__CUDACC__)\n"
        start = "src/solver/solver.h:{}: vendor-name: {}".format
        self.assert_found({"src/solver/solver.h": text}, start(1, "#include <cuda_runtime.h>"), start(2, "hipMalloc"),
                          start(3, "cooperative_groups"), start(4, "__CUDACC__"))

    def test_columns(self):
        self.assert_found({"src/solver/solver.h": f"\n// {WIDE}\n", "docs/index.md": f"```c\n{WIDE}\n```\n\n{WIDE}\n",
                           "cmake/Some.cmake": f"# {WIDE}\n", ".ci/run": f"# {WIDE}\n"},
                          ".ci/run:1: columns: 123 columns; there may be 120", "cmake/Some.cmake:1: columns: 123",
                          "docs/index.md:2: columns: 121", "docs/index.md:5: columns: 121",
                          "src/solver/solver.h:2: columns: 124")

    def test_comments_of_headers(self):
        wall = "/**\n * @file x.h  A wall.\n" + " * more\n" * 16 + " */\n"
        fits = wall.replace(" * more\n", "", 1)
        self.assert_found({"include/tessera/matrix.h": "\n" + wall + fits, "include/tessera/accessor.cuh": wall,
                           "src/solver/solver.h": wall, "include/tessera/codec.h": 'x = "/*";\n' * 20 + fits},
                          "include/tessera/matrix.h:2: comment: a comment of 19 lines; there may be 18")

    def test_paths(self):
        text = "`src/format/dia/`\n`matrix.c`, `format/<name>/<name>_host.c`\n[a](gone.md) `docs/{index,other}.md`\n"
        start = "docs/howto/add-a-format.md:{}: path: {} does not exist".format
        self.assert_found({"docs/howto/add-a-format.md": text, "docs/howto/solve.md": text},
                          start(1, "src/format/dia/"), start(2, "matrix.c"), start(2, "format/<name>/<name>_host.c"),
                          start(3, "gone.md"), start(3, "docs/other.md"))

    def test_counts_and_list(self):
        files = {**CLEAN, "src/solver/solver.h": "#if TESS_HAVE_GPU\n#endif // TESS_HAVE_GPU\n#if TESS_HAVE_GPU\n"}
        status, lines = check(files, "--counts")
        self.assertEqual((status, lines[0].split()), (1, ["gpu-test", "src/solver", "2"]))
        self.assertIn("gpu-test 2", lines[1])
        status, lines = check(files, "--list")
        self.assertEqual(status, 0)
        self.assertIn("src/matrix       base device dense", "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
