#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tests/messages.txt with the texts in the sources, so that a review reads each new one: test_messages.py

Also checks what scripts/list_messages.py takes for a text, and that no message has words that only the authors know.
"""
import difflib
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import list_messages  # noqa: E402

# Words that say nothing to a user, or that read like a translation.
PRIVATE = re.compile(r"\b(granules?|letters?|desk|patience|hasty|at all|is asked|asked for|passed over|mend|stays as|"
                     r"for good)\b")
SAMPLE = r'''
#include "not a text.h"
/* "not a text" */
asm volatile("mov.u32 %0, 1;" : "=r"(x));
fail(1, "plain text", "joined "
     "text with %d", 'a', "word", "%s: %s");
print("names" NAMES " and " PRId64 " more words");
json_pack("{ss so}", "a key", x);
'''


def main():
    failures = []
    found = [t for t in list_messages.literals_of(SAMPLE) if list_messages.is_text(t)]
    wanted = ["plain text", "joined text with %d", "names{NAMES} and {PRId64} more words"]
    if found != wanted:
        failures.append(f"the texts of the sample are {found}, not {wanted}")
    listed = list_messages.list_messages(ROOT)
    with open(os.path.join(ROOT, "tests", "messages.txt"), encoding="utf-8") as file:
        kept = file.read()
    if listed != kept:
        difference = difflib.unified_diff(kept.splitlines(), listed.splitlines(), "tests/messages.txt", "sources",
                                          lineterm="", n=1)
        failures.append("texts have changed; read them, then run scripts/list_messages.py --write\n"
                        + "\n".join(difference))
    for line in listed.splitlines():
        if line.startswith("    ") and PRIVATE.search(line):
            failures.append(f"'{line.strip()}' has a private word: {PRIVATE.search(line)[0]}")
    print("\n".join(failures) or f"{sum(line.startswith('    ') for line in listed.splitlines())} texts")
    return bool(failures)


sys.exit(main())
