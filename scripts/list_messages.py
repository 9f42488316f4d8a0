#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists every text that the library and the tool can print: list_messages.py [ROOT] > tests/messages.txt

A text is a string literal of src/, include/ or cli/ with a blank between letters: error messages with their hints,
warnings, reasons, lines of reports and of help. Each stands on a line of its own under the name of its file, in the
order of the source, so that a review reads each new one. Adjacent literals are joined, and a macro between them stands
as its name in braces. tests/scripts/test_messages.py compares the list with tests/messages.txt; --write renews it.
"""
import os
import re
import sys

FOLDERS = ("include", "src", "cli")
ENDINGS = (".c", ".h", ".cu", ".cuh", ".def", ".inc")
TOKEN = re.compile(
    r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<char>\'(?:\\.|[^\'\\\n])*\')'
    r'|(?P<directive>^[ \t]*#[ \t]*(?:include|pragma|error|warning)[^\n]*)|(?P<word>[A-Za-z_]\w*)'
    r'|(?P<space>\s+|\\\n)|(?P<other>.)', re.S | re.M)
UNREAD = {"asm", "__asm__", "_Static_assert", "static_assert", "_Pragma", "__attribute__", "extern", "json_pack"}


def tokens_of(text):
    for found in TOKEN.finditer(text):
        if found.lastgroup not in ("comment", "space", "directive"):
            yield found.lastgroup, found.group()


def literals_of(text):
    """The literals of a source, joined as the compiler joins them, without those that nobody reads."""
    tokens = list(tokens_of(text))
    depth, skip = 0, []  # parentheses, and the depths at which calls of UNREAD began
    at, found = 0, []
    while at < len(tokens):
        kind, word = tokens[at]
        if word == "(":
            depth += 1
            back = at - 1
            while back > 0 and tokens[back][1] in ("volatile", "__volatile__"):
                back -= 1
            if at > 0 and tokens[back][1] in UNREAD:
                skip.append(depth)
        elif word == ")":
            if skip and skip[-1] == depth:
                skip.pop()
            depth -= 1
        elif kind == "string":
            parts = []
            while at < len(tokens):
                kind, word = tokens[at]
                if kind == "string":
                    parts.append(word[1:-1])
                elif kind == "word" and (word.isupper() or word.startswith("PRI")):
                    parts.append("{" + word + "}")
                else:
                    break
                at += 1
            if not skip:
                found.append("".join(parts))
            continue
        at += 1
    return found


def is_text(literal):
    """Words with a blank between them; the conversions of printf and escapes are no words."""
    plain = re.sub(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z%]|\\.|\{\w+\}", "\x00", literal)
    return re.search(r"[A-Za-z]{2,}[\x00-\x1f,.:;')%]* +\(?\W*[A-Za-z]|[A-Za-z]{3,}.* \x00|\x00.* [A-Za-z]{3,}", plain)


def list_messages(root):
    lines = []
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(ENDINGS):
                    continue
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    texts = [t for t in literals_of(file.read()) if is_text(t)]
                if texts:
                    lines.append(os.path.relpath(os.path.join(path, name), root))
                    lines += ["    " + t for t in texts] + [""]
    return "\n".join(lines)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    listed = list_messages(root)
    if "--write" in sys.argv:
        with open(os.path.join(root, "tests", "messages.txt"), "w", encoding="utf-8") as file:
            file.write(listed)
    else:
        sys.stdout.write(listed)


if __name__ == "__main__":
    main()
