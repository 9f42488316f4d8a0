#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C++ of CUDA sources: launches and dynamic shared memory, which are no C++.

translate.py FROM TO FILE...   FILE, relative to FROM, is written below TO; .cu becomes .cpp, and other files are written only
                               where they change.
"""
import re
import sys
from pathlib import Path

SHARED = re.compile(r"extern __shared__\s+(?:__align__\(\s*\w+\)\s+)?(\w+)\s+(\w+)\[\];")
KERNEL = re.compile(r"[;{}]\s*((?:/\*.*?\*/\s*)?)([\w:]+(?:<[^;{}]*>)?)\s*$", re.S)


def closing(text, at):
    """The index of the parenthesis that closes the one at text[at]."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("no closing parenthesis")


def translate(text):
    text = SHARED.sub(r"\1 *const \2 = static_cast<\1 *>(emulator::dynamic_shared());", text)
    while "<<<" in text:
        at = text.index("<<<")
        end = text.index(">>>", at)
        opened = text.index("(", end)
        closed = closing(text, opened)
        kernel = KERNEL.search(text[:at])
        if not kernel:
            raise ValueError("a launch whose kernel is not at a statement's beginning: " + text[max(at - 80, 0) : at])
        arguments = re.sub(r"\bNULL\b", "nullptr", text[opened + 1 : closed])
        call = "[=](auto... argument) { %s(argument...); }" % kernel.group(2)
        launch = "emulator::prepare(%s, %s)(%s)" % (call, text[at + 3 : end], arguments)
        text = text[: kernel.start(2)] + launch + text[closed + 1 :]
    return text


def main():
    source, target, files = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    for name in files:
        text = (source / name).read_text()
        try:
            new = translate(text)
        except ValueError as error:
            sys.exit("%s: %s" % (name, error))
        to = target / name
        if to.suffix == ".cu":
            to = to.with_suffix(".cpp")
        elif new == text:
            continue
        new = '#line 1 "%s"\n%s' % (source / name, new)  # messages and coverage name the CUDA source
        if not to.exists() or to.read_text() != new:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(new)


main()
