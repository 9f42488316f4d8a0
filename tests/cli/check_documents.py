#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks manual pages and completions: check_documents.py TOOL [BUILD].

Every option of --help is in the page of its command and in the completion of each shell, groff and mandoc find nothing
to complain about, each shell reads its script, and bash completes. With the build folder: `cmake --install` puts
each file in its place. Programs that are not installed are left out. One line per failing check, then "N passed,
N failed".
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from check_help import COMMANDS, entries, run
from checks import check, finish


def groff(page, *options):
    return subprocess.run(["groff", "-man", "-ww", "-rLL=100n", *options], input=page, capture_output=True, text=True)


def check_page(tool, command):
    page = run([tool, "--man"] + ([command] if command else [])).stdout
    name = f"tessera-{command}" if command else "tessera"
    check(page.startswith(".TH TESSERA"), f"the page of {name} has no title")
    if shutil.which("groff"):
        result = groff(page, "-z", "-Tutf8")
        check(result.returncode == 0 and result.stderr == "", f"groff on {name}: {result.stderr}")
        text = re.sub(".\b", "", groff(page, "-Tascii", "-P-c").stdout)
        check("NAME" in text and "SEE ALSO" in text, f"groff prints no page of {name}")
        for option, _, _ in entries(run([tool, command, "--help"]).stdout) if command else []:
            check(re.search(rf"^\s+--{option}(\s|$)", text, re.M), f"{name}.1 lacks --{option}")
    if shutil.which("mandoc"):
        result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True)
        # The page has no date: it belongs to a version.
        rest = [line for line in result.stdout.splitlines() if "missing date" not in line]
        check(not rest, f"mandoc on {name}: {rest[:3]}")
    for option, _, _ in entries(run([tool, command, "--help"]).stdout) if command else []:
        escaped = option.replace("-", r"\-")
        check(f"\\fB\\-\\-{escaped}\\fR" in page, f"the page of {name} lacks --{option}")
    for other in COMMANDS:
        check(other == command or f"tessera\\-{other} (1)" in page, f"{name} does not refer to tessera-{other}")


def check_reference(tool):
    """docs/reference/options.md is what the tool prints of the library's list."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/reference/options.md")
    page = run([tool, "--reference"]).stdout
    with open(path, encoding="utf-8") as file:
        check(file.read() == page, "docs/reference/options.md: write it again by tessera --reference")
    for option, _, _ in entries(run([tool, "solve", "--help"]).stdout):
        own = ("rhs seed initial-guess time-limit coordinates near-nullspace saddle-index schur-matrix system explain "
               "output history html monitor json force checkpoint checkpoint-every resume device threads preset "
               "help").split()
        check((f"| `--{option}` |" in page) != (option in own), f"options.md and --{option}")


def complete_in_bash(script, *words):
    program = (f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _tessera; "
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
    result = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    check(result.stderr == "", f"bash completion of {words}: {result.stderr}")
    return result.stdout.split()


def check_bash(tool, folder):
    script = os.path.join(folder, "tessera.bash")
    with open(script, "w", encoding="utf-8") as file:
        file.write(run([tool, "--completion", "bash"]).stdout)
    check(set(COMMANDS) <= set(complete_in_bash(script, "tessera", "''")), "bash does not complete the commands")
    check(complete_in_bash(script, "tessera", "sol") == ["solve"], "bash does not complete sol")
    for command in COMMANDS:
        found = complete_in_bash(script, "tessera", command, "--")
        for option, _, _ in entries(run([tool, command, "--help"]).stdout):
            check("--" + option in found, f"bash: {command} lacks --{option}")
    solvers = complete_in_bash(script, "tessera", "solve", "A.mtx", "--solver", "''")
    check({"auto", "cg", "gmres", "gmres-ir", "minres", "idr", "lsmr"} <= set(solvers), f"bash: solvers {solvers}")
    check(complete_in_bash(script, "tessera", "solve", "--solver", "=", "bic") == ["bicgstab"], "bash: --solver=bic")
    check(complete_in_bash(script, "tessera", "solve", "--rtol", "''") == [], "bash completes a number")
    check(complete_in_bash(script, "tessera", "solve", "--policy", "mean") == ["mean-range", "mean-3std"],
          "bash: policies")
    check(complete_in_bash(script, "tessera", "solve", "--json", script[:-1]) == [script], "bash completes no file")
    check(complete_in_bash(script, "tessera", "solve", script[:-1]) == [script], "bash completes no matrix file")


def check_shell(tool, shell, pattern, folder):
    text = run([tool, "--completion", shell]).stdout
    path = os.path.join(folder, "tessera." + shell)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    for command in COMMANDS:
        block = text if shell == "fish" else text[text.index(f"    {command})"):].split(";;")[0]
        for option, _, _ in entries(run([tool, command, "--help"]).stdout):
            found = re.search(pattern.format(command=command, option=option), block)
            check(found, f"{shell}: {command} lacks {option}")
    if shutil.which(shell):
        result = subprocess.run([shell, "-n", path], capture_output=True, text=True)
        check(result.returncode == 0 and result.stderr == "", f"{shell} does not read its script: {result.stderr}")


def check_fish_answers(folder):
    """What fish itself proposes."""
    if not shutil.which("fish"):
        return
    program = f"source {folder}/tessera.fish; complete -C 'tessera solve --solver '"
    result = subprocess.run(["fish", "-N", "-c", program], capture_output=True, text=True,
                            env=dict(os.environ, HOME=folder))
    check("bicgstab" in result.stdout.split(), f"fish proposes {result.stdout[:100]} {result.stderr[:200]}")


def check_installed(build, folder):
    result = subprocess.run(["cmake", "--install", build, "--prefix", folder, "--component", "documents"],
                            capture_output=True, text=True)
    check(result.returncode == 0, f"cmake --install: {result.stderr}")
    places = ["share/man/man1/tessera.1", "share/bash-completion/completions/tessera",
              "share/zsh/site-functions/_tessera", "share/fish/vendor_completions.d/tessera.fish"]
    for place in places + [f"share/man/man1/tessera-{command}.1" for command in COMMANDS]:
        path = os.path.join(folder, place)
        check(os.path.exists(path) and os.path.getsize(path) > 100, f"{place} is not installed")


def main():
    tool = os.path.abspath(sys.argv[1])
    for command in [None] + COMMANDS:
        check_page(tool, command)
    check_reference(tool)
    check(run([tool, "--man", "slove"]).returncode == 2, "--man takes a wrong command")
    check(run([tool, "--completion", "tcsh"]).returncode == 2, "--completion takes a wrong shell")
    check(run([tool, "--completion"]).returncode == 2, "--completion takes no shell")
    with tempfile.TemporaryDirectory() as folder:
        check_bash(tool, folder)
        check_shell(tool, "zsh", r"'--{option}=?\[", folder)
        check_shell(tool, "fish", r"seen_subcommand_from {command}' -l {option} ", folder)
        check_fish_answers(folder)
    if len(sys.argv) > 2:
        with tempfile.TemporaryDirectory() as folder:
            check_installed(sys.argv[2], folder)
    return finish()


sys.exit(main())
