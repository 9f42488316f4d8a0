# SPDX-License-Identifier: Apache-2.0
"""The declarations made from the headers agree with the C compiler and with the library."""
import ctypes
import os
import shutil
import subprocess

import pytest

from tessera_sparse import _abi
from tessera_sparse._library import check_version, enum_values, lib, new_struct

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
    options, result = new_struct(_abi.tess_solve_options), new_struct(_abi.tess_solve_result)
    assert options.size == ctypes.sizeof(options)
    assert result.size == ctypes.sizeof(result)


def test_a_shorter_struct_keeps_what_is_behind_it():
    options = _abi.tess_solve_options()
    memory = (ctypes.c_uint8 * ctypes.sizeof(options)).from_buffer(options)
    memory[:] = [0x5A] * len(memory)
    lib.tess_solve_options_init_sized(ctypes.byref(options), len(memory) - 8)
    assert options.size == len(memory) - 8
    assert list(memory[-8:]) == [0x5A] * 8


def test_a_library_of_another_version_is_refused():
    assert lib.tess_version().decode() == ".".join(map(str, _abi.VERSION))
    check_version("0.3.1", (0, 3, 1))
    check_version("0.3.2", (0, 3, 1))
    for found in ("0.2.0", "0.4.0", "1.3.1", "0.3.0"):
        with pytest.raises(ImportError, match=f"has version {found}"):
            check_version(found, (0, 3, 1))


def test_every_function_is_exported():
    assert len(_abi.FUNCTIONS) > 150
    for name in _abi.FUNCTIONS:
        assert getattr(lib, name) is not None


def test_enumerators_have_the_librarys_names():
    for enum in _abi.ENUMS.keys() - {"tess_option_scope", "tess_option_section"}:  # of the list of options itself
        members, values = _abi.ENUMS[enum], enum_values(enum)
        assert set(values.values()) >= set(members.values()), enum
