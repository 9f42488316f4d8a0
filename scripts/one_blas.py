#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""one_blas.py WHEEL: in a repaired wheel all libraries take BLAS and LAPACK from the OpenBLAS that is in it.

Debian's liblapack.so.3 and libblas.so.3 are copies of what its libopenblas.so.0 has too. They go, and those that need
them need OpenBLAS instead. The wheel is replaced; without OpenBLAS, or where it lacks a symbol, it stays as it is.
"""
import pathlib
import subprocess
import sys
import tempfile

COPIES = ("liblapack-", "libblas-")


def symbols(library: pathlib.Path, *options: str) -> set[str]:
    """Names of a library's dynamic symbols, without versions."""
    listed = subprocess.run(["nm", "-D", *options, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines() if line.split()}


def needed(library: pathlib.Path) -> list[str]:
    """What a library is linked with."""
    listed = subprocess.run(["patchelf", "--print-needed", library], check=True, capture_output=True, text=True).stdout
    return listed.split()


def take_openblas(root: pathlib.Path) -> bool:
    """Replaces the copies in an unpacked wheel; False if they must stay."""
    libraries = [path for path in root.rglob("*.so*") if path.is_file()]
    copies = [path for path in libraries if path.name.startswith(COPIES)]
    blas = [path for path in libraries if path.name.startswith("libopenblas")]
    if not copies or len(blas) != 1:
        return False
    given = symbols(blas[0], "--defined-only")
    names = {path.name for path in copies}
    users = [path for path in libraries if path not in copies and names & set(needed(path))]
    offered = set().union(*(symbols(path, "--defined-only") for path in copies))
    missing = {name for path in users for name in symbols(path, "--undefined-only") & offered} - given
    if missing:
        print(f"OpenBLAS lacks {', '.join(sorted(missing))}: the copies of LAPACK stay")
        return False
    for path in users:
        present = needed(path)
        for name in names & set(present):
            if blas[0].name in present:
                subprocess.run(["patchelf", "--remove-needed", name, path], check=True)
            else:
                subprocess.run(["patchelf", "--replace-needed", name, blas[0].name, path], check=True)
                present.append(blas[0].name)
    for path in copies:
        path.unlink()
    return True


def main() -> None:
    wheel = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "-d", folder, wheel], check=True)
        root = next(pathlib.Path(folder).iterdir())
        if take_openblas(root):
            wheel.unlink()
            subprocess.run([sys.executable, "-m", "wheel", "pack", "-d", wheel.parent, root], check=True)


if __name__ == "__main__":
    main()
