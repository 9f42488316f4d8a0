# SPDX-License-Identifier: Apache-2.0
"""
What pip calls to build the package (PEP 517): scikit-build-core. It packs nothing from outside this folder; so the C
sources, which lie beside it, are copied in while an sdist is made.
"""
import contextlib
import os
import shutil

from scikit_build_core.build import *  # noqa: F401, F403: the other hooks
from scikit_build_core.build import build_sdist as _build_sdist

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("CMakeLists.txt", "cmake", "include", "src")


@contextlib.contextmanager
def _library_sources():
    root, inside, licence = os.path.dirname(HERE), os.path.join(HERE, "tessera"), os.path.join(HERE, "LICENSE")
    if not os.path.isdir(os.path.join(root, "src", "solver")):  # this is an sdist: it has them
        yield
        return
    shutil.rmtree(inside, ignore_errors=True)
    os.mkdir(inside)
    try:
        for part in PARTS:
            source, target = os.path.join(root, part), os.path.join(inside, part)
            (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)
        shutil.copy2(os.path.join(root, "LICENSE"), licence)
        yield
    finally:
        shutil.rmtree(inside, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.remove(licence)


def build_sdist(sdist_directory, config_settings=None):
    with _library_sources():
        return _build_sdist(sdist_directory, config_settings)
