#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ctypes declarations of Tessera's public headers: python3 generate_abi.py INCLUDE_FOLDER OUTPUT.

Structs, enumerators and functions come from the headers alone, so that nothing is typed twice.
tests/test_abi.py compares sizes and offsets with those of the C compiler.
"""
import os
import re
import subprocess
import sys
import tempfile

from pycparser import c_ast, c_parser

# All that the headers need of the C library. Real system headers have extensions that a C parser does not know.
STANDARD_HEADERS = {
    "stddef.h": "typedef unsigned long size_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(
        f"typedef {sign}{name} {prefix}int{bits}_t;\n"
        for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
        for sign, prefix in (("signed " if bits == 8 else "", ""), ("unsigned ", "u"))
    ) + "#define INT64_C(x) x##L\n#define UINT64_C(x) x##UL\n",
    "stdbool.h": "typedef int bool;\n",
    "string.h": "", "float.h": "", "assert.h": "#define assert(x) ((void)0)\n", "math.h": "",
}
SCALARS = {
    "char": "c_char", "int": "c_int", "unsigned": "c_uint", "unsigned int": "c_uint", "double": "c_double",
    "float": "c_float", "size_t": "c_size_t", "int8_t": "c_int8", "uint8_t": "c_uint8", "int16_t": "c_int16",
    "uint16_t": "c_uint16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
    "uint64_t": "c_uint64",
}


def preprocess(include):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STANDARD_HEADERS.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        source = os.path.join(folder, "all.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <tessera/tessera.h>\n")
        command = [os.environ.get("CC", "cc"), "-E", "-P", "-undef", "-nostdinc", "-D__attribute__(x)=",
                   "-I", folder, "-I", include, source]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Headers:
    """What the headers declare."""

    def __init__(self, text):
        self.enums, self.constants, self.structs, self.functions = {}, {}, {}, {}
        self.function_types = {}
        for node in c_parser.CParser().parse(text).ext:
            if isinstance(node, (c_ast.Typedef, c_ast.Decl)):
                self.add(node)

    def add(self, node):
        kind = node.type
        if isinstance(kind, c_ast.FuncDecl):
            if "static" not in node.storage:
                self.functions[node.name] = kind
            return
        if isinstance(node, c_ast.Typedef) and isinstance(getattr(kind, "type", None), c_ast.FuncDecl):
            self.function_types[node.name] = kind.type  # a pointer to a function
            return
        inner = kind.type if isinstance(kind, c_ast.TypeDecl) else kind
        if isinstance(inner, c_ast.Enum) and inner.values:
            self.add_enum(node.name, inner)
        elif isinstance(inner, c_ast.Struct) and inner.decls:
            self.structs[inner.name] = inner.decls

    def add_enum(self, name, enum):
        value, members = -1, {}
        for item in enum.values.enumerators:
            value = self.evaluate(item.value) if item.value is not None else value + 1
            members[item.name] = self.constants[item.name] = value
        if name:
            self.enums[name] = members

    def evaluate(self, node):
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0)
        if isinstance(node, c_ast.ID):
            return self.constants[node.name]
        if isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return -self.evaluate(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            left, right = self.evaluate(node.left), self.evaluate(node.right)
            return {"+": left + right, "-": left - right, "*": left * right, "<<": left << max(right, 0)}[node.op]
        raise ValueError(f"a constant expression that this script does not know: {node}")

    def ctype(self, node):
        """The ctypes expression of a declaration's type."""
        if isinstance(node, c_ast.ArrayDecl):
            return f"{self.ctype(node.type)} * {self.evaluate(node.dim)}"
        if isinstance(node, c_ast.PtrDecl):
            target = node.type
            if isinstance(target, c_ast.FuncDecl):
                return self.function_type(target)
            if type_name(target) == "char" and not isinstance(target, c_ast.PtrDecl):
                return "c_char_p"
            return "c_void_p"
        name = type_name(node)
        if name in self.enums:
            return "c_int"
        return self.function_types.get(name) and name or SCALARS.get(name, name)

    def function_type(self, node):
        return f"CFUNCTYPE({', '.join([self.result(node)] + self.arguments(node, texts=True))})"

    def result(self, node):
        return "None" if type_name(node.type) == "void" and isinstance(node.type, c_ast.TypeDecl) else self.ctype(
            node.type)

    def arguments(self, node, texts=False):
        """Types of the parameters. Python gets texts as bytes; it passes them as addresses, which takes more kinds."""
        parameters = node.args.params if node.args else []
        types = []
        for parameter in parameters:
            kind = parameter.type
            if type_name(kind) == "void" and isinstance(kind, c_ast.TypeDecl):
                continue
            pointer = isinstance(kind, (c_ast.ArrayDecl, c_ast.PtrDecl))
            known = texts and pointer and self.ctype(kind) == "c_char_p"
            types.append("c_void_p" if pointer and not known else self.ctype(kind))
        return types


def type_name(node):
    while not isinstance(node, c_ast.TypeDecl):
        if isinstance(node, c_ast.FuncDecl):
            return ""
        node = node.type
    kind = node.type
    return " ".join(kind.names) if isinstance(kind, c_ast.IdentifierType) else kind.name


def read_comments(include):
    """{(struct, field): text} of the comments in front of fields and behind them."""
    comments = {}
    for name in sorted(os.listdir(os.path.join(include, "tessera"))):
        with open(os.path.join(include, "tessera", name), encoding="utf-8") as file:
            text = file.read()
        for body, struct in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
            parts = re.findall(r"(/\*\*(?!<).*?\*/)?\s*([^;/{}]+);(?:[ \t]*(/\*\*<.*?\*/))?", body, re.S)
            for before, declaration, after in parts:
                comment = re.sub(r"\s+", " ", (before or after).strip("/*< \n"))
                for field in declaration.split(","):
                    match = re.search(r"(\w+)(\[[^]]*\])*\s*$", field.strip())
                    if match and comment:
                        comments[struct, match.group(1)] = comment
    return comments


def read_reals(include):
    """{name: value} of the macros that are real numbers; the preprocessor leaves none, and enums are the whole ones."""
    reals = {}
    for name in sorted(os.listdir(os.path.join(include, "tessera"))):
        with open(os.path.join(include, "tessera", name), encoding="utf-8") as file:
            found = re.findall(r"^#define (TESS_\w+) (\d+\.\d+)$", file.read(), re.M)
        reals.update((macro, float(value)) for macro, value in found)
    return reals


def read_version(include):
    with open(os.path.join(include, "tessera", "version.h"), encoding="utf-8") as file:
        return tuple(int(n) for n in re.findall(r"#define TESS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))


def structs_in_order(headers):
    """A struct after those that it contains."""
    done = []

    def add(name):
        if name in done:
            return
        for field in headers.structs[name]:
            node = field.type
            while isinstance(node, c_ast.ArrayDecl):
                node = node.type
            if not isinstance(node, c_ast.PtrDecl) and type_name(node) in headers.structs:
                add(type_name(node))
        done.append(name)

    for name in headers.structs:
        add(name)
    return done


def write(headers, comments, version, out):
    def line(text=""):
        out.write(text + "\n")

    line('"""Generated from include/tessera/*.h by generate_abi.py. Do not edit."""')
    line("from ctypes import (CFUNCTYPE, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int8, c_int16,")
    line("                    c_int32, c_int64, c_size_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)")
    line()
    line(f"VERSION = {version!r}")
    line()
    line("ENUMS = {")
    for name, members in headers.enums.items():
        line(f"    {name!r}: {members!r},")
    line("}")
    line()
    for name, value in headers.constants.items():
        line(f"{name} = {value}")
    line()
    for name, node in headers.function_types.items():
        line(f"{name} = {headers.function_type(node)}")
    for name in structs_in_order(headers):
        line()
        line()
        line(f"class {name}(Structure):")
        line("    _fields_ = [")
        for field in headers.structs[name]:
            line(f"        ({field.name!r}, {headers.ctype(field.type)}),")
        line("    ]")
    line()
    line()
    line("STRUCTS = {")
    for name in headers.structs:
        line(f"    {name!r}: {name},")
    line("}")
    line()
    line("# name: (type of the result, types of the arguments)")
    line("FUNCTIONS = {")
    for name, node in headers.functions.items():
        line(f"    {name!r}: ({headers.result(node)}, ({''.join(a + ', ' for a in headers.arguments(node))})),")
    line("}")
    line()
    line("# The enum of each field that has one.")
    line("FIELD_ENUMS = {")
    for name, fields in headers.structs.items():
        enums = {f.name: type_name(f.type) for f in fields if type_name(f.type) in headers.enums}
        if enums:
            line(f"    {name!r}: {enums!r},")
    line("}")
    line()
    line("# Comments of the fields of a result.")
    line("RESULT_COMMENTS = {")
    for (struct, field), comment in comments.items():
        if struct == "tess_solve_result":
            line(f"    {field!r}: {comment!r},")
    line("}")


def main():
    include, output = sys.argv[1:3]
    headers, comments = Headers(preprocess(include)), read_comments(include)
    headers.constants.update(read_reals(include))
    temporary = output + ".new"
    with open(temporary, "w", encoding="utf-8") as out:
        write(headers, comments, read_version(include), out)
    os.replace(temporary, output)


if __name__ == "__main__":
    main()
