#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what --help of every command prints: check_help.py TOOL SOURCES (the folder cli/).

Lines fit, entries stand in their columns, each option that the parser takes appears once, each option with a value
names its default, the defaults that a JSON report can confirm are the real ones, and each help ends with an example
that runs. One line per failing check, then "N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from checks import check, finish

COMMANDS = ["solve", "verify", "info", "spmv", "compare", "timestep", "generate", "convert"]
TEXT_COLUMN = 29
WIDEST = 100
# Options with a value that have no default: files that are written, or not.
NO_DEFAULT = {"coordinates", "near-nullspace", "saddle-index", "schur-matrix", "output", "history", "html", "json",
              "plot", "points", "snapshots", ("generate", "initial")}
# Defaults that the first words after 'default' do not name; None: the report has no value to compare.
OTHER_WORDS = {("solve", "granularity"): "row", ("solve", "base"): "csr", ("solve", "precond-format"): "csr"}
OTHER_WORDS.update({("solve", name): None for name in (
    "accuracy", "choices", "initial-guess", "inner-iterations",
    "inner-precision", "basis-precision", "preset", "precond-precision", "steps", "switch-at", "block",
    "tcki-thresholds", "factor-memory", "amg-strength", "amg-aggressive", "amg-block-size", "coordinates",
    "near-nullspace", "saddle-index", "schur-matrix", "narrowing-epsilon", "precond-steps", "precond-omega",
    "precond-share", "bsr-block-size")})


def run(arguments, columns=None, folder=None):
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    if columns:
        environment["COLUMNS"] = str(columns)
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=folder,
                          stdin=subprocess.DEVNULL)


def entries(help_text):
    """(name, argument or '', text) of each option, in order; text is one line."""
    found = []
    for line in help_text.splitlines():
        start = re.match(r"  --([a-z-]+)(?: (\S+))?(?:\s{2,}(.*)|$)", line)
        if start:
            found.append([start[1], start[2] or "", start[3] or ""])
        elif found and line.startswith(" " * TEXT_COLUMN):
            found[-1][2] += " " + line.strip()
    return found


def check_lines(command, text, width):
    for line in text.splitlines():
        label = f"{command} --help at {width} columns: '{line}'"
        check(len(line) <= width or line.startswith("  tessera "), label + " is too long")
        check(line == line.rstrip() and "\t" not in line and "{" not in line, label + " has blanks or braces left over")
        indent = len(line) - len(line.lstrip())
        check(indent in (0, 2, TEXT_COLUMN, TEXT_COLUMN + 2) or line.startswith("       tessera"),
              label + f" begins in column {indent}")
        if line.startswith("  --"):
            check(len(line) == TEXT_COLUMN or line[TEXT_COLUMN - 2:TEXT_COLUMN] == "  " and line[TEXT_COLUMN] != " ",
                  label + ": text is not in its column")


def check_filled(command, text, width):
    """A line of an entry is broken only if the next word does not fit."""
    lines = text.splitlines()
    for line, following in zip(lines, lines[1:]):
        if following.startswith(" " * (TEXT_COLUMN + 2)):
            word = following.split()[0]
            check(len(line) + 1 + len(word) > width, f"{command} --help at {width} columns: '{line}' ends too early")


def check_options(tool, command, text):
    listed = [name for name, _, _ in entries(text)]
    usage = re.findall(r"\[--([a-z-]+)", run([tool, command, "--usage"]).stdout)
    for name in usage:
        check(listed.count(name) == 1, f"{command} --help lists --{name} {listed.count(name)} times")
        refused = run([tool, command, "--" + name, "--no-such-option"]).stderr
        check(f"unknown option '--{name}'" not in refused, f"{command} refuses --{name}, which help lists")
    check(sorted(listed) == sorted(usage + ["help"]), f"{command}: help and usage list other options")
    return set(usage)


def default_of(text):
    found = re.search(r"\(default:? ([^;)]*)", text)
    return found and found[1]


def check_defaults(command, text):
    for name, argument, words in entries(text):
        none = name in NO_DEFAULT or (command, name) in NO_DEFAULT
        if argument:
            check(none or default_of(words), f"{command} --help: --{name} names no default")
        check(words != "", f"{command} --help: --{name} has no text")


def same(said, real):
    try:
        return float(said) == float(real)
    except (TypeError, ValueError):
        return said == str(real)


def check_real_defaults(tool, text):
    """Defaults of solve against the options that its report resolves."""
    report = json.loads(run([tool, "solve", "gallery:laplace2d:10", "--json", "-", "--threads", "1"]).stdout)
    confirmed = 0
    for name, argument, words in entries(text):
        key = name.replace("-", "_")
        if not argument or key not in report["options"]:
            continue
        said = OTHER_WORDS.get(("solve", name), (default_of(words) or "").split(":")[0])
        if said is None:
            continue
        check(same(said, report["options"][key]),
              f"solve --help: --{name} has default {said}, the report {report['options'][key]}")
        confirmed += 1
    check(confirmed >= 30, f"only {confirmed} defaults were confirmed by the report")


def check_example(tool, command, text):
    last = text.rstrip("\n").splitlines()[-2:]
    check(last[0].startswith("Example: ") and last[1].startswith(f"  tessera {command} "),
          f"{command} --help does not end with an example")
    with tempfile.TemporaryDirectory() as folder:
        run([tool, "generate", "laplace2d", "10", "--output", "A.mtx"], folder=folder)
        result = run([tool] + last[1].split()[1:], folder=folder)
        check(result.returncode == 0, f"'{last[1].strip()}' ends with {result.returncode}: {result.stderr}")


def names_in_sources(folder):
    names = set()
    for path in sorted(os.listdir(folder)):
        if path.endswith(".c"):
            with open(os.path.join(folder, path), encoding="utf-8") as file:
                names.update(re.findall(r'\{"([a-z-]+)", KEY_', file.read()))
    return names


def main():
    tool, sources = os.path.abspath(sys.argv[1]), sys.argv[2]
    seen = set()
    for command in COMMANDS:
        result = run([tool, command, "--help"])
        check(result.returncode == 0 and result.stderr == "", f"{command} --help ends with {result.returncode}")
        check(result.stdout == run([tool, "help", command]).stdout, f"help {command} is not {command} --help")
        for width in (64, 80, WIDEST, 200):
            text = run([tool, command, "--help"], width).stdout
            check_lines(command, text, min(width, WIDEST))
            check_filled(command, text, min(width, WIDEST))
        seen |= check_options(tool, command, result.stdout)
        check_defaults(command, result.stdout)
        check_example(tool, command, result.stdout)
    check_real_defaults(tool, run([tool, "solve", "--help"]).stdout)
    check(names_in_sources(sources) <= seen, f"not in any help: {names_in_sources(sources) - seen}")
    overview = run([tool, "--help"]).stdout
    check(all(len(line) <= WIDEST for line in overview.splitlines()), "a line of tessera --help is too long")
    for command in COMMANDS:
        check(len(re.findall(rf"^  {command} ", overview, re.M)) == 1, f"tessera --help does not list {command} once")
    check_example(tool, "solve", overview)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
