# SPDX-License-Identifier: Apache-2.0
"""scripts/check_docs.py on made-up documents: clean ones pass; each rule, broken once, is told with file and line."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_docs  # noqa: E402 (found by the line above)
import doc_checks  # noqa: E402

TOOL = """#!/bin/sh
case "$1" in
solve) echo "iterations        100"; echo "column iterations  time"; echo "     1         40  3 ms" ;;
time) echo "time 1.5 ms set-up"; echo "CPU, 2 threads"; echo "end" ;;
fail) echo "tessera: no such file" >&2; exit 3 ;;
crash) kill -SEGV $$ ;;
esac
"""
CLEAN = {
    "README.md": "# Tool\n\nSee [the index](docs/index.md#the-parts-of-a-page) and ![a figure](docs/a.svg).\n"
    "`[not](a-link)` and [site](https://example.org/x).\n\n"
    "```console\n$ tessera time\ntime 27 us set-up\nCPU, 1 thread\nend\n$ tessera fail\ntessera: no such file\n"
    "$ tessera time \\\n    | tail -n 2\n...\nend\n```\n\n<!-- gpu -->\n```console\n$ tessera none\nnothing\n```\n\n"
    "<!-- file: examples/a.c -->\n```c\nint a;\n```\n```sh\nother\n```\n",
    "docs/index.md": "# Index\n\n## The parts of a `page`\n\n[up](../README.md), [here](#index)\n\n"
    "```sh\n[no](link)\n```\n",
    "docs/a.svg": "",
    "examples/a.c": "/* SPDX-License-Identifier: Apache-2.0 */\nint a;\n",
}


def check(files, *options):
    """(exit status, printed lines) of the check over these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "tree"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        tool = pathlib.Path(folder) / "tool"
        tool.write_text(TOOL, encoding="utf-8")
        tool.chmod(0o755)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = check_docs.main(["--root", str(root), "--tool", str(tool), *options])
    return status, out.getvalue().splitlines()


class CheckDocs(unittest.TestCase):
    def assert_found(self, files, *starts):
        with mock.patch.object(check_docs, "OPENED", re.compile("docs/opened")):
            status, lines = check({**CLEAN, **files})
        found = lines[:-1]
        self.assertEqual(len(found), len(starts), found)
        for line, start in zip(found, starts):
            self.assertTrue(line.startswith(start), f"{line!r} does not begin with {start!r}")
        self.assertEqual(status, 1 if starts else 0)

    def console(self, *lines):
        return {"docs/howto.md": "\n```console\n" + "\n".join(lines) + "\n```\n"}

    def test_clean(self):
        self.assert_found({})

    def test_links(self):
        self.assert_found({"docs/index.md": "# Index\n\n[a](gone.md)\n[b](../README.md#gone)\n\n<img src=\"b.svg\">\n"},
                          "README.md:3: link: docs/index.md#the-parts-of-a-page: docs/index.md has no heading",
                          "docs/index.md:3: link: gone.md: there is no docs/gone.md",
                          "docs/index.md:4: link: ../README.md#gone: README.md has no heading for #gone",
                          "docs/index.md:6: link: b.svg: there is no docs/b.svg")

    def test_anchors(self):
        text = "# The *true* residual, `x`\n## A\n## A\n```\n## No\n```\n<a id=\"z\"></a>\n"
        self.assertEqual(doc_checks.anchors_of(text), {"the-true-residual-x", "a", "a-1", "z"})

    def test_raw_results_are_linked(self):
        raw = {"docs/results/raw/one/a.txt": "", "docs/results/raw/two/b.txt.xz": "", "docs/results/raw/two/c.md": ""}
        page = "# Page\n\n**Commit 1234567, one GPU.** [a](raw/one/a.txt), [b](raw/two/b.txt.xz)\n"
        self.assert_found({**raw, "docs/results/page.md": page},
                          "docs/results/raw/two/c.md:1: raw: no document links it")
        self.assert_found({**raw, "docs/results/page.md": page + "[two](raw/two)\n"})
        # a link within the folder does not count, nor one in a block
        self.assert_found({"docs/results/raw/one/a.txt": "", "docs/results/raw/one/b.md": "[a](a.txt), [b](b.md)\n",
                           "docs/page.md": "```sh\n[a](results/raw/one)\n```\n"},
                          "docs/results/raw/one/a.txt:1: raw:", "docs/results/raw/one/b.md:1: raw:")

    def test_results_name_their_commit(self):
        for text in ("# Page\n\nCommit 1234567.\n", "# Page\n\n## One\n\n**Commit 1234567.**\n", "# Page\n"):
            self.assert_found({"docs/results/page.md": text}, "docs/results/page.md:1: commit: say in bold")
        self.assert_found({"docs/results/page.md": "# Page\n\n**Each row names its\ncommit.**\n",
                           "docs/results/README.md": "# Results\n"})

    def test_pages_say_when_to_use_them(self):
        self.assertTrue(check_docs.OPENED.match("docs/howto/a.md") and check_docs.OPENED.match("docs/results/a.md"))
        self.assertFalse(check_docs.OPENED.match("docs/results/raw/a.md"))
        self.assert_found({"docs/opened.md": "# Page\n\n**When to use it.** You have a page.\n"})
        for text in ("# Page\n\nYou have a page.\n", "# Page\n\n```sh\n```\n\n**When to use it.** You have a page.\n"):
            self.assert_found({"docs/opened.md": text}, "docs/opened.md:1: opening: begin with the title")

    def test_figures_are_on_the_pages(self):
        page = {"docs/results/page.md": "**Commit 1.** | 1.30 | and 0.9, to 2.50x\n"}
        row = "# Tool\n\n| [what](docs/results/page.md) of FP64 | 1.3 | 0.9 to {} | 19 of 20 |\n\n7.7 times\n"
        readme = CLEAN["README.md"].replace("# Tool\n", row)
        self.assert_found({**page, "README.md": readme.replace("{}", "1.3")})
        self.assert_found({**page, "README.md": readme.replace("{}", "2.5")},
                          "README.md:3: figure: 2.5 is not on docs/results/page.md")

    def test_the_tree_is_small(self):
        with mock.patch.object(check_docs, "MOST_BYTES", {"": 5000, "docs/results/": 100}):
            self.assert_found({"build/a.bin": "a" * 6000, "python/__pycache__/b.pyc": "b" * 6000})  # generated
            self.assert_found({"docs/results/p.txt": "a" * 101},
                              "docs/results/:1: size: 101 bytes, more than 100; largest: docs/results/p.txt")
            self.assert_found({"src/a.c": "a" * 5000}, ".:1: size: ")

    def test_copies(self):
        self.assert_found({"examples/a.c": "/* SPDX-License-Identifier: Apache-2.0 */\nint b;\n"},
                          "README.md:27: copy: the block differs from examples/a.c")
        self.assert_found({"docs/b.md": "<!-- file: gone.c -->\n```c\n```\n"}, "docs/b.md:3: copy: there is no gone.c")

    def test_output(self):
        for lines, start in (
                (("$ tessera time", "time 1 s set-up", "CPU, 4 threads"), "the command also prints 'end'"),
                (("$ tessera time", "time 1 s set-up", "CPU, 4 threads", "end", "more"), "the command does not print"),
                (("$ tessera time", "time 1 kB set-up", "CPU, 4 threads", "end"),
                 "the document has 'time 1 kB set-up'"),
                (("$ tessera time", "...", "start"), "the document has '...'"),
                (("$ tessera crash",), "exit status"),
                (("$ no-such-program",), "exit status 127")):
            with self.subTest(lines=lines):
                self.assert_found(self.console(*lines), f"docs/howto.md:3: console: {start}")

    def test_a_comment_is_for_the_next_block(self):
        solved = ("$ tessera solve", "iterations        102", "column iterations  time", "     1         41  9 ms")
        self.assert_found(self.console(*solved))
        self.assert_found(self.console(*solved[:1], "...", solved[3]))  # a table without its head has no counts
        for at, wrong in ((1, "iterations        103"), (3, "     1         42  9 ms")):
            told = solved[:at] + (wrong,) + solved[at + 1:]
            self.assert_found(self.console(*told), f"docs/howto.md:3: console: the document has '{wrong.strip()}'")
        self.assert_found({"docs/howto.md": "<!-- gpu -->\n```console\n$ exit 127\n```\n```console\n$ exit 127\n```\n"},
                          "docs/howto.md:6: console: exit status 127")

    def test_normal_lines(self):
        same = (("norm 1.994826e-08, bound -1.1e-22", "norm 2, bound 3.5"), ("6.34 MB/s", "1.2 GB/s"),
                ("1,024 rows", "7 rows"), ("4 iterations,  with", "1 iteration, with"))
        for one, other in same:
            self.assertEqual(doc_checks.normal(one), doc_checks.normal(other))
        for one, other in (("fp64 2", "fp32 2"), ("csr: 2", "ell: 2"), ("rtol", "atol"), ("1 ms", "1 MB")):
            self.assertNotEqual(doc_checks.normal(one), doc_checks.normal(other))

    def test_sentences(self):
        long = "Word " + "word " * 40 + "end."
        self.assert_found({"docs/b.md": f"A short one. {long}\n\n| {long} |\n\n```\n{long}\n```\n",
                           "docs/results/b.md": f"**Commit 1.** {long}"},
                          "docs/b.md:1: style: 42 words in a sentence: Word word")

    def test_banned_words(self):
        self.assert_found({"docs/b.md": "A short\nline `very`. It is very\nfast.\n"},
                          "docs/b.md:2: style: 'very': leave")

    def test_shares(self):
        passive, active = "The file is read by it. ", "The tool reads it. "
        self.assert_found({"docs/b.md": passive * 6 + active * 6},
                          "docs/b.md:1: style: 6 of 12 sentences have a passive")
        self.assert_found({"docs/b.md": active * 10 + ("Word " + "word " * 25 + "end. ") * 2},
                          "docs/b.md:1: style: 2 of 12 sentences have more than 25 words")

    def test_sentences_of_lists(self):
        text = "Intro (see it):\n\n- one item\n  goes on\n- two items. `And` more.\n\n    code here\n"
        self.assertEqual([s for _, s in doc_checks.sentences_of(text)],
                         ["Intro (see it):", "one item goes on", "two items.", "Code more."])

    def test_spelling_without_codespell(self):
        nothing = dict(os.environ, PATH="")
        for ci, expected in (("", 77), ("true", 1)):
            with self.subTest(ci=ci), mock.patch.dict(os.environ, {**nothing, "CI": ci}):
                self.assertEqual(check(CLEAN, "--spelling")[0], expected)



if __name__ == "__main__":
    unittest.main()
