#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Programs that were compiled with the headers of an earlier version run with today's library.

    check.py --cc CC --flags FLAGS --library build/release/lib/libtessera.so     what ctest runs
    check.py --keep                            keeps the headers of this version; replaces those that it kept before

tests/abi/README.md says what may change.
"""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")
STANDARD = ("stddef.h", "stdint.h", "stdbool.h", "string.h", "float.h", "assert.h", "math.h")
STRUCT = re.compile(r"typedef struct (\w+) \{\n(.*?)\n\} \1;", re.S)
ENUM = re.compile(r"enum (?:\w+ )?\{(.*?)\}", re.S)
PROTOTYPE = re.compile(r"^(?!typedef|static|struct|enum|extern)\w[\w \*\n]*?\b(tess_\w+)\([^;{]*\);", re.M)
MOST_REMOVED = 4
problems = []


def version():
    with open(os.path.join(INCLUDE, "tessera", "version.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"#define TESS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


# ---- the headers that are kept ----

def without_bodies(text):
    """Drops inline functions, except those that initialise a struct: they are a part of the programs."""
    kept = []
    while True:
        start = re.search(r"\bstatic inline\b", text)
        if not start:
            return "".join(kept) + text
        end, depth = text.index("{", start.start()) + 1, 1
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        whole = re.match(r"static inline void tess_\w+_init\(", text[start.start():])
        kept.append(text[:end if whole else start.start()])
        text = text[end:]


def keep(cc):
    with tempfile.TemporaryDirectory() as folder:
        for name in STANDARD:
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        source = os.path.join(folder, "all.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <tessera/tessera.h>\n#include <tessera/papers.h>\n")
        made = subprocess.run([cc, "-E", "-P", "-undef", "-nostdinc", "-D__attribute__(x)=", "-I", folder, "-I",
                               INCLUDE, source], check=True, stdout=subprocess.PIPE, text=True)
    text = re.sub(r"\n\s+(?=\n)", "", without_bodies(made.stdout)).strip()
    text = re.sub(r"\n+", "\n", re.sub(r"(?m)^ (?=\S)", "", text)) + "\n"
    for old in glob.glob(os.path.join(HERE, "headers-*.txt")):
        if old.endswith(f"-{version()}.txt"):
            os.remove(old)
    with open(os.path.join(HERE, f"headers-{version()}.txt"), "w", encoding="utf-8") as file:
        file.write(text)


# ---- reading them ----

def fields_of(body):
    """[(name, declaration)] of a struct, in order."""
    found = []
    for declaration in re.findall(r"[^;]+;", body):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        if pointer:
            found.append((pointer.group(1), declaration))
            continue
        for part in declaration.rstrip(";").split(","):
            found.append((re.search(r"(\w+)\s*(\[[^]]*\]\s*)*$", part.strip()).group(1), declaration))
    return found


def read(text):
    structs = {name: fields_of(body) for name, body in STRUCT.findall(text)}
    members = {name for name in structs for body in STRUCT.findall(text)
               for _, declaration in fields_of(body[1]) if re.match(rf"\s*{name} \w", declaration)}
    enumerators = [item.split("=")[0].strip() for body in ENUM.findall(text) for item in body.split(",")]
    prototypes = {match.group(1): match.group(0) for match in PROTOTYPE.finditer(text)}
    return structs, members, [e for e in enumerators if e], prototypes


def inits(prototypes):
    """{struct: name of its _init}."""
    return {name[:-len("_init_sized")]: name[:-len("_sized")] for name in prototypes if name.endswith("_init_sized")}


def shortened(text, removed):
    """The headers with the last declarations of structs removed: {struct: how many}."""
    def shorten(match):
        declarations = re.findall(r"[^;]+;", match.group(2))
        left = declarations[:len(declarations) - removed.get(match.group(1), 0)]
        return f"typedef struct {match.group(1)} {{\n{''.join(left)}\n}} {match.group(1)};"
    return STRUCT.sub(shorten, text)


# ---- comparing ----

class Build:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, folder, 0

    def program(self, text, link=False):
        """Compiles a program; returns its path, or None after a problem."""
        self.count += 1
        source, out = (os.path.join(self.folder, f"p{self.count}{end}") for end in (".c", ""))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = [self.options.cc, "-std=c17", "-Werror", *shlex.split(self.options.flags), source, "-o", out]
        if link:
            command += [self.options.library, "-Wl,-rpath," + os.path.dirname(self.options.library), "-lm"]
        made = run(command)
        if made.returncode != 0:
            problems.append(made.stdout)
            return None
        return out

    def numbers(self, prologue, expressions):
        lines = "".join(f'    printf("%lld\\n", (long long)({e}));\n' for e in expressions)
        program = self.program(f"{prologue}#include <stdio.h>\nint main(void)\n{{\n{lines}    return 0;\n}}\n")
        return [int(word) for word in run([program]).stdout.split()] if program else None


def old_headers(text):
    return "#include <stddef.h>\n#include <stdint.h>\n" + text


def todays_headers():
    include = os.path.realpath(INCLUDE)
    return f'#include <stddef.h>\n#include "{include}/tessera/tessera.h"\n#include "{include}/tessera/papers.h"\n'


def compare_layouts(build, text):
    """Fields keep their places and lengths, enumerators their values. Structs with `size` that are no members grow."""
    structs, members, enumerators, _ = read(text)
    names, expressions = [], []
    for struct, fields in structs.items():
        names.append((struct, None))
        expressions.append(f"sizeof({struct})")
        for field, _ in fields:
            if field == "reserved":
                continue # its words get names
            for what, expression in (("place", f"offsetof({struct}, {field})"),
                                     ("length", f"sizeof((({struct} *)0)->{field})")):
                names.append((f"{struct}.{field}", what))
                expressions.append(expression)
    for enumerator in enumerators:
        names.append((enumerator, "value"))
        expressions.append(enumerator)
    flags = build.options.flags
    build.options.flags = flags + " -I " + INCLUDE
    now = build.numbers(todays_headers(), expressions)
    build.options.flags = flags
    before = build.numbers(old_headers(text), expressions)
    if now is None or before is None:
        return
    for (name, what), old, new in zip(names, before, now):
        grows = what is None and structs[name][0][0] == "size" and name not in members
        if old != new and not (grows and new > old):
            problems.append(f"{name}: {what or 'sizeof'} was {old} and is {new}")


def compare_functions(build, text):
    """The prototypes of old agree with today's, and the library has the functions."""
    _, _, _, prototypes = read(text)
    table = "".join(f"    (void (*)(void)){name},\n" for name in prototypes)
    flags = build.options.flags
    build.options.flags = flags + " -I " + INCLUDE
    program = build.program(todays_headers() + "\n".join(prototypes.values()) +
                            f"\nstatic void (*const all[])(void) = {{\n{table}}};\n"
                            "int main(void)\n{\n    int count = 0;\n"
                            "    while (count < (int)(sizeof all / sizeof all[0]) && all[count]) { count += 1; }\n"
                            "    return count > 100 ? 0 : 1;\n}\n", link=True)
    build.options.flags = flags
    if program and run([program]).returncode != 0:
        problems.append("the program with all functions does not run")


# ---- programs ----

def shortest(build, text):
    """How many declarations to remove from each struct with an _init, so that it is shorter. Members keep theirs."""
    structs, members, _, prototypes = read(text)
    wanted = [s for s in inits(prototypes) if s in structs and s not in members and structs[s][0][0] == "size"]
    full = build.numbers(old_headers(text), [f"sizeof({s})" for s in wanted])
    removed = {}
    for count in range(1, MOST_REMOVED + 1):
        left = {s: count for s in wanted if s not in removed}
        sizes = build.numbers(old_headers(shortened(text, {**removed, **left})), [f"sizeof({s})" for s in wanted])
        if full is None or sizes is None:
            return {}
        removed.update((s, count) for s, before, now in zip(wanted, full, sizes) if s in left and now < before)
    problems.extend(f"{s}: {MOST_REMOVED} fields less, and it is as long" for s in wanted if s not in removed)
    return removed


def run_program(build, text, name):
    """Every _init within its struct, then solves: program.c."""
    _, _, _, prototypes = read(text)
    checks = "".join(f"    CHECK_INIT({struct});\n" for struct in inits(prototypes))
    with open(os.path.join(HERE, "program.c"), encoding="utf-8") as file:
        program = build.program(old_headers(text) + f"#define CHECK_ALL_INITS \\\n{checks}"
                                .replace(";\n", "; \\\n") + "\n" + file.read(), link=True)
    if program is None:
        return
    done = run([program])
    if done.returncode != 0:
        problems.append(f"a program with {name} fails with {done.returncode}:\n{done.stdout}")


def check(options):
    kept = sorted(glob.glob(os.path.join(HERE, "headers-*.txt")))
    own = version().split(".")[:2]
    with tempfile.TemporaryDirectory() as folder:
        build = Build(options, folder)
        for path in kept:
            of = re.search(r"headers-(.*)\.txt", path).group(1)
            if of.split(".")[:2] != own:
                continue # before 1.0 a minor version may break the interface
            with open(path, encoding="utf-8") as file:
                text = file.read()
            compare_layouts(build, text)
            compare_functions(build, text)
            run_program(build, text, f"the headers of {of}")
            run_program(build, shortened(text, shortest(build, text)), f"the headers of {of}, with shorter structs")
        if build.count == 0:
            problems.append(f"there are no headers of version {'.'.join(own)}: python3 tests/abi/check.py --keep")
    for problem in problems:
        print(problem)
    print(f"{build.count} programs, {len(problems) or 'no'} problem{'s' * (len(problems) > 1)}")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--flags", default="")
    parser.add_argument("--library")
    options = parser.parse_args()
    if options.keep:
        keep(options.cc)
        return 0
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
