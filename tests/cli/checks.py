# SPDX-License-Identifier: Apache-2.0
"""What the programs check_*.py share: checks that count, a line for each that fails, and the sum at the end."""
passed, failed = 0, 0


def check(ok, text):
    global passed, failed
    passed += bool(ok)
    failed += not ok
    if not ok:
        print("FAIL", text)


def finish(remark=""):
    """Prints the sum. Returns the exit code."""
    print(f"{passed} passed, {failed} failed{remark}")
    return 1 if failed else 0
