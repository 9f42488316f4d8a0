# SPDX-License-Identifier: Apache-2.0
"""The declarations made from the headers agree with the C compiler and with the library."""
import ctypes
import os
import shutil
import subprocess

import pytest

from tessera_sparse import _abi
from tessera_sparse._library import enum_values, lib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_layouts_are_those_of_the_compiler(tmp_path):
    """sizeof, offsetof and enumerators, printed by a C program."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    lines, expected = [], []
    for name, kind in _abi.STRUCTS.items():
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        expected.append(ctypes.sizeof(kind))
        for field, _ in kind._fields_:
            lines.append(f'printf("%zu\\n", offsetof({name}, {field}));')
            expected.append(getattr(kind, field).offset)
            lines.append(f'printf("%zu\\n", sizeof((({name} *)0)->{field}));')
            expected.append(getattr(kind, field).size)
    for members in _abi.ENUMS.values():
        for member, value in members.items():
            lines.append(f'printf("%d\\n", (int){member});')
            expected.append(value)
    lines.append('printf("%d\\n", (int)TESS_ROWS_SLACK);')
    expected.append(int(_abi.TESS_ROWS_SLACK))
    source = tmp_path / "layout.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n#include <tessera/tessera.h>\nint main(void)\n{\n" +
                      "\n".join(lines) + "\nreturn 0;\n}\n")
    program = tmp_path / "layout"
    subprocess.run([compiler, "-std=c17", "-I", os.path.join(ROOT, "include"), str(source), "-o", str(program)],
                   check=True)
    printed = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert [int(word) for word in printed] == expected
    assert len(expected) > 500


def test_sizes_are_those_of_the_library():
    options, result = _abi.tess_solve_options(), _abi.tess_solve_result()
    lib.tess_solve_options_init(ctypes.byref(options))
    lib.tess_solve_result_init(ctypes.byref(result))
    assert options.size == ctypes.sizeof(options)
    assert result.size == ctypes.sizeof(result)


def test_every_function_is_exported():
    assert len(_abi.FUNCTIONS) > 150
    for name in _abi.FUNCTIONS:
        assert getattr(lib, name) is not None


def test_enumerators_have_the_librarys_names():
    for enum in _abi.ENUMS.keys() - {"tess_option_scope", "tess_option_section"}:  # of the list of options itself
        members, values = _abi.ENUMS[enum], enum_values(enum)
        assert set(values.values()) >= set(members.values()), enum
