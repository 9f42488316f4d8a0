#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken and hostile files: each is answered within 10 s and 1 GB of address space, by a result or by an error that
names the file and says what was expected.

    tests/robustness/files.py build/release/tessera

Headers, sizes and encodings that are wrong, small files of each kind cut after every byte, and with one byte changed.
"""
import gzip
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

LONGEST, MEMORY = 10.0, 1000 << 20
BANNER = b"%%MatrixMarket matrix coordinate real general\n"
ARRAY = b"%%MatrixMarket matrix array real general\n"
GOOD = BANNER + b"% a comment\n3 3 4\n1 1 4.5\n2 2 -1e3\n3 1 1\n3 3 2\n"

# Content, and whether it must be refused; None: either will do.
CASES = {
    "empty": (b"", True),
    "one newline": (b"\n", True),
    "text": (b"hello\n", True),
    "a nul byte": (b"\0", True),
    "a megabyte of nul": (b"\0" * (1 << 20), True),
    "a megabyte without a line end": (b"x" * (1 << 20), True),
    "banner in another case": (GOOD.replace(b"MatrixMarket", b"matrixmarket"), None),
    "banner of four words": (GOOD.replace(b" general", b""), True),
    "banner of six words": (GOOD.replace(b" general", b" general x"), True),
    "banner of a vector": (GOOD.replace(b"matrix coord", b"vector coord"), True),
    "field complex": (GOOD.replace(b"real", b"complex"), True),
    "field quaternion": (GOOD.replace(b"real", b"quaternion"), True),
    "hermitian": (GOOD.replace(b"real general", b"complex hermitian"), True),
    "array pattern": (b"%%MatrixMarket matrix array pattern general\n1 1\n", True),
    "no size line": (BANNER, True),
    "only comments": (BANNER + b"% x\n" * 1000, True),
    "a size line of letters": (BANNER + b"a b c\n", True),
    "a size line of two numbers": (BANNER + b"3 3\n", True),
    "a size line of four numbers": (BANNER + b"3 3 1 1\n1 1 1\n", True),
    "negative rows": (BANNER + b"-3 3 1\n1 1 1\n", True),
    "rows with a fraction": (BANNER + b"3.5 3 1\n1 1 1\n", True),
    "rows in hexadecimal": (BANNER + b"0x3 3 1\n1 1 1\n", True),
    "2^31 - 1 rows": (BANNER + b"2147483647 2147483647 1\n1 1 1\n", True),
    "2^31 rows": (BANNER + b"2147483648 3 1\n1 1 1\n", True),
    "2^31 - 1 columns": (BANNER + b"1 2147483647 1\n1 1 1\n", True),
    "2^63 entries": (BANNER + b"3 3 9223372036854775808\n1 1 1\n", True),
    "2^64 entries": (BANNER + b"3 3 18446744073709551616\n1 1 1\n", True),
    "rows of a thousand digits": (BANNER + b"9" * 1000 + b" 3 1\n1 1 1\n", True),
    "more entries than lines": (BANNER + b"3 3 4\n1 1 1\n", True),
    "more lines than entries": (BANNER + b"3 3 1\n1 1 1\n2 2 1\n", True),
    "row 0": (BANNER + b"3 3 1\n0 1 1\n", True),
    "a row beyond": (BANNER + b"3 3 1\n4 1 1\n", True),
    "a row of 2^40": (BANNER + b"3 3 1\n1099511627776 1 1\n", True),
    "a row of -2^63": (BANNER + b"3 3 1\n-9223372036854775808 1 1\n", True),
    "a value of letters": (BANNER + b"3 3 1\n1 1 abc\n", True),
    "a value with two points": (BANNER + b"3 3 1\n1 1 1.2.3\n", True),
    "a value with a comma": (BANNER + b"3 3 1\n1 1 1,5\n", True),
    "a value of Fortran": (BANNER + b"3 3 1\n1 1 1.5D+3\n", None),
    "a value of 100000 digits": (BANNER + b"3 3 1\n1 1 " + b"7" * 100000 + b"\n", None),
    "an exponent of a thousand digits": (BANNER + b"3 3 1\n1 1 1e" + b"9" * 1000 + b"\n", None),
    "a missing value": (BANNER + b"3 3 1\n1 1\n", True),
    "a value too many": (BANNER + b"3 3 1\n1 1 1 1\n", True),
    "an entry above a skew diagonal": (GOOD.replace(b"general", b"skew-symmetric"), True),
    "symmetric and not square": (BANNER.replace(b"general", b"symmetric") + b"2 3 1\n1 1 1\n", True),
    "line ends of Windows": (GOOD.replace(b"\n", b"\r\n"), False),
    "line ends of old Macs": (GOOD.replace(b"\n", b"\r"), True),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, None),
    "UTF-16": (GOOD.decode().encode("utf-16"), True),
    "Latin-1 in a comment": (GOOD.replace(b"comment", b"B\xe4r"), False),
    "Latin-1 in the numbers": (GOOD.replace(b"4.5", b"4\xb75"), True),
    "a nul byte in the numbers": (GOOD.replace(b"4.5", b"4\x005"), True),
    "tabs": (GOOD.replace(b" 1 ", b"\t1\t"), False),
    "no line end at the end": (GOOD[:-1], False),
    "blank lines": (GOOD.replace(b"3 3 4\n", b"\n3 3 4\n\n"), None),
    "an array of 2^30 values": (ARRAY + b"1073741824 1\n1\n", True),
    "an array that is too short": (ARRAY + b"2 2\n1\n2\n3\n", True),
    "an array that is too long": (ARRAY + b"2 1\n1\n2\n3\n", True),
    "a gzip header alone": (b"\x1f\x8b", True),
    "gzip of nothing": (gzip.compress(b""), True),
    "gzip with a bad method": (b"\x1f\x8b\x07" + gzip.compress(GOOD)[3:], True),
    "gzip with a bad checksum": (gzip.compress(GOOD)[:-8] + b"\0" * 8, True),
    "gzip of a gigabyte of blanks": (gzip.compress(b" " * (64 << 20)) * 16, True),
    "gzip with rubbish after it": (gzip.compress(GOOD) + b"rubbish", None),
    "a PNG": (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, True),
    "a zip": (b"PK\x03\x04" + b"\0" * 100, True),
    "an ELF program": (b"\x7fELF" + b"\0" * 100, True),
    "a pickle": (b"\x80\x04\x95" + b"\0" * 100, True),
    "the magic of the cache alone": (b"\x89TESS\r\n\x1a", True),
    "a NumPy magic alone": (b"\x93NUMPY", True),
    "a NumPy header of 2^32 - 1 bytes": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", True),
    "a NumPy array of 2^62 rows": (b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', 'fortran_order': False, "
                                   b"'shape': (4611686018427387904, 1), }".ljust(117) + b"\n" + b"\0" * 8, True),
    "a NumPy array of objects": (b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '|O', 'fortran_order': False, "
                                 b"'shape': (1, 1), }".ljust(117) + b"\n" + b"\0" * 8, True),
    "a PETSc matrix of 2^31 - 1 rows": (bytes.fromhex("00127b507fffffff7fffffff00000001"), True),
    "a PETSc matrix with -1 rows": (bytes.fromhex("00127b50ffffffff0000000200000001"), True),
    "a PETSc matrix header alone": (bytes.fromhex("00127b50"), True),
    "a cache of 2^62 rows": (b"\x89TESS\r\n\x1a" + b"\x04\x03\x02\x01\x01\0\0\0"
                             + b"\xff\xff\xff\xff\xff\xff\xff\x3f" * 3 + b"\0" * 24, True),
}


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Tally:
    def __init__(self, tool):
        self.tool, self.passed, self.failed, self.slowest = tool, 0, 0, 0.0

    def note(self, good, what):
        self.passed += good
        self.failed += not good
        if not good:
            print(f"FAIL {what}", flush=True)

    def run(self, label, path, words, refused):
        """One run: a documented exit code; the file named, and more than its name, where it is refused."""
        begin = time.monotonic()
        try:
            done = subprocess.run([self.tool, *words], capture_output=True, timeout=LONGEST, preexec_fn=limit,
                                  check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            self.note(False, f"{label}: longer than {LONGEST:g} s")
            return
        self.slowest = max(self.slowest, time.monotonic() - begin)
        error = done.stderr.decode(errors="replace")
        self.note(done.returncode in (0, 1, 3, 4, 5), f"{label}: exit {done.returncode}: {error[:200]}")
        if refused is not None:
            self.note((done.returncode in (3, 4)) == refused,
                      f"{label}: {'accepted' if refused else 'refused'}: {error[:200]}")
        if done.returncode in (3, 4):
            said = re.search(re.escape(path) + r"(\([^)]*\))?:(.*)", error)  # of an archive with the member
            self.note(said is not None and len(said.group(2).strip()) > 10,
                      f"{label}: the message does not tell: {error[:200]}")


def cut_everywhere(tally, name, whole, words):
    """The file cut after each byte. The whole is accepted; a part may be, where the rest is a comment or a line end."""
    path = pathlib.Path(name)
    path.write_bytes(whole)
    tally.run(f"{name} as a whole", name, words, False)
    for count in range(len(whole)):
        path.write_bytes(whole[:count])
        tally.run(f"{name} cut after {count} bytes", name, words, None)


def change_bytes(tally, name, whole, words, times):
    """One byte of the file changed, at places and to values that a seed decides."""
    dice = random.Random(name)
    path = pathlib.Path(name)
    for _ in range(times):
        place, value = dice.randrange(len(whole)), dice.randrange(256)
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1:])
        tally.run(f"{name} with byte {place} = {value}", name, words, None)


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    tally = Tally(tool)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for number, (label, (content, refused)) in enumerate(CASES.items()):
            name = f"case{number}.mtx"
            pathlib.Path(name).write_bytes(content)
            tally.run(label, name, ["info", name], refused)
        pathlib.Path("good.mtx").write_bytes(GOOD)
        small = BANNER + b"2 2 2\n1 1 4\n2 2 8\n"
        cut_everywhere(tally, "cut.mtx", small, ["info", "cut.mtx"])
        cut_everywhere(tally, "cut.mtx.gz", gzip.compress(small, mtime=0), ["info", "cut.mtx.gz"])
        subprocess.run([tool, "convert", "good.mtx", "whole.tess"], check=True, capture_output=True)
        cut_everywhere(tally, "cut.tess", pathlib.Path("whole.tess").read_bytes(), ["info", "cut.tess"])
        pathlib.Path("b.npy.mtx").write_bytes(ARRAY + b"3 1\n1\n2\n3\n")
        vector = ARRAY + b"3 1\n1\n2\n3\n"
        cut_everywhere(tally, "b.mtx", vector, ["spmv", "good.mtx", "--x", "b.mtx", "--repeat", "1"])
        subprocess.run([tool, "solve", "good.mtx", "--checkpoint", "whole.ckpt"], check=True, capture_output=True)
        cut_everywhere(tally, "run.ckpt", pathlib.Path("whole.ckpt").read_bytes(),
                       ["solve", "good.mtx", "--resume", "run.ckpt"])
        for kind in ("petsc", "npz"):
            subprocess.run([tool, "convert", "good.mtx", f"whole.{kind}"], check=True, capture_output=True)
            whole = pathlib.Path(f"whole.{kind}").read_bytes()
            if kind == "petsc":
                cut_everywhere(tally, "cut.petsc", whole, ["info", "cut.petsc"])
            change_bytes(tally, f"changed.{kind}", whole, ["info", f"changed.{kind}"], 150)
        subprocess.run([tool, "convert", "b.npy.mtx", "whole.npy"], check=True, capture_output=True)
        whole = pathlib.Path("whole.npy").read_bytes()
        change_bytes(tally, "b.npy", whole, ["spmv", "good.mtx", "--x", "b.npy", "--repeat", "1"], 150)
        change_bytes(tally, "changed.tess", pathlib.Path("whole.tess").read_bytes(), ["info", "changed.tess"], 100)
        os.chdir("/")
    print(f"{tally.passed} passed, {tally.failed} failed; the slowest took {tally.slowest:.2f} s")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
