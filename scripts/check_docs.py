#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README and docs/ promise: commands print what stands below them, links lead somewhere, sentences are short.

The rules are the data of this file. Each finding is a line FILE:LINE: RULE: what is wrong; the exit status is 1 while
there is one, and 77 if --spelling finds no codespell (in CI that is a failure).

A block ```console is run in a folder that has data/ and the tool as `tessera`, and its output is compared up to
numbers and units; numbers of iterations may differ by 1, or by 2 %. A line `...` stands for any lines. <!-- gpu --> or
<!-- illustrative --> above a block says that it needs a GPU, or something else that a test has not: it is not run.
<!-- file: NAME --> says that a block has the text of a file.

Each file of docs/results/raw is linked from a document, itself or its folder. A page of results says at its top which
commit ran on what, and each page of docs/ when to use it. README's figures are on the pages that it links. The tree has
at most MOST_BYTES.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import doc_checks
from layer_checks import list_files

DOCUMENTS = re.compile(r".*\.md$")
RUN = re.compile(r"README\.md$|docs/(?!results/|design-notes/).*\.md$")
PROSE = re.compile(r"(?:README|CONTRIBUTING)\.md$|docs/(?!results/|design-notes/).*\.md$")
RAW = "docs/results/raw/"
MEASURED = re.compile(r"docs/results/(?!README)[^/]*\.md$")  # name their commit in bold at their top
# The most bytes below a folder; "" is the whole tree. Sources and their tests are 10.7 million of it.
MOST_BYTES = {"": 16_500_000, "docs/results/": 1_410_000}
OPENED = re.compile(r"docs/(?!results/raw/).*\.md$")  # say at their top when to use them
FIGURES = "README.md"  # a row of its tables that links to a page of results has no number that is not on that page
GENERATED = re.compile(r"build/|(?:.*/)?(?:__pycache__|\.[a-z_]*cache|\.git)/")  # of a tarball, where git cannot tell
# Documents whose sentences are not weighed yet, each with the reason.
UNWEIGHED = {}
SPELLED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "include", "cli", "src", "examples", "scripts",
           "data/README.md", "tests/emulator", "tests/unit", "petsc")
STYLE = doc_checks.Style(
    most_words=40,
    long_words=25,
    most_long=0.15,
    most_passive=0.25,
    fewest_sentences=10,
    banned={
        r"\bthe same at all\b": "say 'the same at every ...'",
        r"\bwhat is (?:asked for|chosen|left out|given) (?:otherwise|from)\b": "say who asks, and for what",
        r"\bis no limit any ?more\b": "say 'the limit on ... is gone'",
        r"\bso it is with\b": "say what holds for them",
        r"\bwhat (?:it|they) (?:comes?|came) to\b": "say what it is, or what the library chose",
        r"\bmake(?:s)? of it\b": "say what is computed",
        r"\bthe last word\b": "say what decides",
        r"\bof one's own\b": "say 'your own'",
        r"\bgoes about it\b": "say what it does",
        r"\bgives? (?:it|them) up\b": "say what changes",
        r"\b(?:simply|obviously|easily|of course|basically|very|really)\b": "leave it out",
        r"\b(?:in order to)\b": "say 'to'",
        r"\b(?:utili[sz]e[sd]?|leverage[sd]?)\b": "say 'use'",
        r"\b(?:blazing(?:ly)?|state[- ]of[- ]the[- ]art|seamless(?:ly)?|powerful)\b": "give the figure",
    },
)


def console_environment(folder, tool):
    """A folder to run commands in, with the sample data, and a PATH on which `tessera` is the tool."""
    root = pathlib.Path(__file__).resolve().parent.parent
    programs = folder / "programs"
    programs.mkdir()
    (programs / "tessera").symlink_to(tool)
    place = folder / "place"
    place.mkdir()
    for name in ("data", "examples", "include", "docs", "scripts", "src", "tests"):
        (place / name).symlink_to(root / name)
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LC_ALL="C", OMP_WAIT_POLICY="passive",
                       XDG_CACHE_HOME=str(place / ".cache"), COLUMNS="80",
                       CUDA_VISIBLE_DEVICES="")  # the documents show the host
    environment.pop("TESSERA_LOG", None)
    return place, environment


def check_documents(root, tool):
    files = [name for name in list_files(root) if not GENERATED.match(name)]
    places = {parent for name in files for parent in map(str, pathlib.PurePath(name).parents)} | set(files)

    def read(name):
        return (root / name).read_text(encoding="utf-8", errors="replace")

    texts = {name: read(name) for name in files if DOCUMENTS.match(name)}
    yield from doc_checks.check_raw(RAW, texts, files)
    yield from doc_checks.check_size({name: (root / name).stat().st_size for name in files}, MOST_BYTES)
    for name in sorted(texts):
        text = texts[name]
        if name == FIGURES:
            yield from doc_checks.check_figures(name, text, texts)
        if MEASURED.match(name):
            yield from doc_checks.check_commit(name, text)
        if OPENED.match(name):
            yield from doc_checks.check_opening(name, text)
        yield from doc_checks.check_links(name, text, places, read)
        yield from doc_checks.check_copies(name, text, places, read)
        if PROSE.match(name) and name not in UNWEIGHED:
            yield from doc_checks.check_style(name, text, STYLE)
        if tool and RUN.match(name):
            with tempfile.TemporaryDirectory() as folder:
                place, environment = console_environment(pathlib.Path(folder), tool)
                yield from doc_checks.check_console(name, text, place, environment)


def check_spelling(root):
    """codespell, kept by others; its word list has no preference between British and American spelling."""
    program = shutil.which("codespell")
    if not program:
        print("codespell is missing: bash scripts/setup.sh check installs it")
        return 1 if os.environ.get("CI") else 77
    command = [program, "--ignore-words", str(root / "scripts/spelling.txt"), "--builtin", "clear,rare,informal",
               "--skip", "docs/results,*.svg,*.png,*.json,*.csv,*.txt,*powers_of_five.h",
               *[name for name in SPELLED if (root / name).exists()]]
    return subprocess.run(command, cwd=root, check=False).returncode and 1


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check; this one")
    parser.add_argument("--tool", type=pathlib.Path, help="the program tessera; without it no command is run")
    parser.add_argument("--spelling", action="store_true", help="check the spelling alone")
    options = parser.parse_args(arguments)
    if options.spelling:
        return check_spelling(options.root)
    if options.tool and not options.tool.exists():
        parser.error(f"there is no {options.tool}")
    count = 0
    for f in check_documents(options.root, options.tool.resolve() if options.tool else None):
        print(f"{f.file}:{f.line}: {f.rule}: {f.text}")
        count += 1
    print(f"{count} findings" + ("" if options.tool else "; no command was run (--tool)"))
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
