#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, where what a header declares is defined, how many sources a header reaches, which sources need
one another, guards, which names stay in which folder, the width of lines, the length of comments in public headers, and
the paths that documents name.

The rules are the data of this file. Each finding is a line FILE:LINE: RULE: what is wrong and what would be right; the
exit status is 1 while there is one.
"""

import argparse
import collections
import pathlib
import re
import sys

from layer_checks import AllowedInclude, NameRule, Rules, Tree, check_tree, place_of
from symbol_checks import check_circles, check_definitions, check_dependents, count_dependents

# The floors of src/: a folder includes itself, the public headers, and what is beside its name.
GROUND = "base device dense matrix"
SOLVER = f"{GROUND} policy format triangular sweep precond order solver"
FLOORS = {
    "base": "",
    "device": "base",
    "dense": "base device",
    "matrix": "base device dense",
    "policy": GROUND,
    "format": f"{GROUND} policy",
    "triangular": f"{GROUND} policy format",
    "sweep": f"{GROUND} policy format",
    "precond": f"{GROUND} policy format triangular sweep",
    "solver": f"{GROUND} policy format triangular sweep precond order",  # a system in another order
    "auto": SOLVER,
    "io": GROUND,
    "order": GROUND,
    "gallery": f"{GROUND} order",  # a mesh is numbered for a small bandwidth
    "papers": f"{SOLVER} auto io gallery",
    "registry": f"{SOLVER} auto io gallery papers",
}
# The lowest floor that may include a public header. It may include those of its floor and below.
PUBLIC_FLOORS = {
    "accessor.cuh": "base",
    "accessor.h": "base",
    "accessor_element.cuh": "base",
    "accuracy.h": "base",
    "advise.h": "auto",
    "automatic.h": "solver",
    "batch.h": "solver",
    "checkpoint.h": "io",
    "codec.h": "base",
    "columns.h": "dense",
    "context.h": "base",
    "dense.h": "dense",
    "digits.h": "dense",
    "estimate.h": "solver",
    "export.h": "base",
    "findings.h": "matrix",
    "gallery.h": "gallery",
    "io.h": "matrix",
    "many.h": "solver",
    "matrix.h": "dense",
    "names.h": "base",
    "options.h": "solver",
    "order.h": "matrix",
    "papers.h": "matrix",
    "phase.h": "base",
    "policy.h": "dense",
    "precision.h": "base",
    "precond.h": "precond",
    "reason.h": "base",
    "residual.h": "base",
    "schedule.h": "base",
    "sequence.h": "solver",
    "solver.h": "solver",
    "status.h": "base",
    "storage.cuh": "base",
    "tessera.h": "registry",
    "timestep.h": "solver",
    "two_word.h": "base",
    "vector.h": "dense",
    "version.h": "base",
    "verify.h": "solver",
}
# The most sources of src/ that may include a header, by others too: so many a change to it compiles again.
MOST_DEPENDENTS = {
    "include/tessera/automatic.h": 64,
    "include/tessera/order.h": 114,
    "include/tessera/papers.h": 103,
    "include/tessera/precond.h": 188,
    "include/tessera/solver.h": 100,
}
# Folders of which no two sources call functions of one another, by others too.
NO_CIRCLES = ("petsc",)
# The other trees, likewise; `src` stands for all of its folders.
TREES = {
    "include": "",
    "cli": "",
    "examples": "",
    "bindings": "",
    "petsc": "",
    "bench": "src",
    "tests": "src bench cli",  # cli: the fuzz target of its arguments
}
# Includes that the table does not allow: AllowedInclude(file, included file, reason). There may be three.
INCLUDE_EXCEPTIONS = (
    AllowedInclude(
        "src/device/run_scalar_update.h",
        "src/solver/scalar_updates.h",
        "a reduction ends in the scalar step that needs it, on the device",
    ),
    AllowedInclude("src/device/host/loop.c", "include/tessera/solver.h", "a loop tells the monitor its progress"),
    AllowedInclude("src/device/gpu/loop.cu", "include/tessera/solver.h", "the same; the engine that runs the loop"),
)

NAMES = (
    NameRule(
        "format-name",
        words=("TESS_FORMAT_",),
        pattern=re.compile(r"\bTESS_FORMAT_(?!(?:CSR|SHELL|AUTO|COUNT)\b)[A-Z]\w*"),
        home=("src/format/", "src/registry/", "src/papers/"),
        sentence="only src/format, src/registry and src/papers name a format other than CSR: ask the format's table",
        trees=("src", "cli"),
    ),
    NameRule(
        "papers-name",
        words=("narrowing_", "NARROWING_", "resident_", "RESIDENT", "tcki_", "TCKI_", "ONE_REDUCTION", "KERNEL_PAPER"),
        pattern=re.compile(
            r"\b(?:narrowing|NARROWING|RESIDENT|TCKI|ONE_REDUCTION)_\w+|\bresident_(?!bytes\b)\w+"
            r"|\btcki_(?!thresholds\b)\w+|\bTESS_(?:LAYOUT_RESIDENT|KERNEL_PAPER|NARROWING_\w+|TCKI_\w+)\b"
        ),
        home=("src/papers/", "src/registry/"),
        sentence="only src/registry names what is in src/papers: ask by a table of registry/papers.def",
        trees=("src",),
        exceptions={"src/format/fit.c": "compares the options of papers.h with what a format can do, like all others"},
    ),
    NameRule(
        "precision-switch",
        words=("case TESS_PRECISION_", "switch"),
        pattern=re.compile(r"\bcase TESS_PRECISION_|\bswitch\s*\((?:[^()]|\([^()]*\))*precision\b"),
        home=("src/base/", "src/device/"),
        sentence="only src/base and src/device switch on a precision: use their codecs, or their call by precision",
        exceptions={"include/tessera/codec.h": "the codecs themselves; public, for the accessor"},
        once_per_lines=4,
    ),
    NameRule(
        "gpu-test",
        words=("TESS_HAVE_GPU",),
        pattern=re.compile(r"\bTESS_HAVE_GPU\b"),
        home=("src/registry/",),
        sentence="only src/registry asks whether a GPU was built: register the device's table there",
    ),
    NameRule(
        "vendor-name",
        words=("cuda", "hip", "cooperative_groups", "cg::", "cub::", "__CUDA", "__HIP"),
        pattern=re.compile(
            r"\b(?:cuda|hip)[A-Z]\w*|\bcooperative_groups\b|\bcg::|\bcub::|\b__(?:CUDACC|CUDA_ARCH|HIP)\w*"
            r"|#\s*include\s*<(?:cuda|cub|hip)[\w./]*>"
        ),
        home=("src/device/", "include/tessera/export.h"),
        sentence="only src/device names a vendor's interface: use the names of device/gpu/gpu.h",
        exceptions={
            "include/tessera/codec.h": "conversions of the hardware, where the compiler is a device's",
            "include/tessera/storage.cuh": "for compilers of a device",
        },
    ),
)

RULES = Rules(
    floors=FLOORS,
    trees=TREES,
    include_paths=("include", "src"),  # looked through after the folder of the file that includes
    toolkits=("emulator/",),  # stands where a vendor's toolkit does, on the include path of one kind of build
    include_exceptions=INCLUDE_EXCEPTIONS,
    most_include_exceptions=3,
    public_floors=PUBLIC_FLOORS,
    defining_places=("src/registry",),  # its lists fill in what the floors ask for
    most_dependents=MOST_DEPENDENTS,
    no_circles=NO_CIRCLES,
    names=NAMES,
    most_columns=120,
    most_comment_lines=18,
    comment_files=("include/",),
    long_comments={"include/tessera/accessor.cuh": "used by itself, without the library and its pages"},
    wide_files=re.compile(
        r"\.(?:c|h|cu|cuh|cpp|def|inc|py|sh|awk|cmake|in|md)$|(?:^|/)(?:CMakeLists\.txt|Makefile|run)$"
    ),
    # results as they were printed; scripts written before the rule, to be wrapped when they are touched
    wide_exempt=(
        "docs/results/raw/",
        "cmake/FindLAPACKE.cmake",
        "cmake/TesseraGpu.cmake",
        "scripts/check_gpu.sh",
        "scripts/check_layers.py",
        "tests/CMakeLists.txt",
        "tests/cli/check_png.py",
        "tests/cli/parts/10_usage.sh",
        "tests/cli/parts/40_others.sh",
        "tests/cli/parts/50_slices.sh",
        "tests/cli/parts/52_diagonals.sh",
        "tests/cli/parts/61_blocks.sh",
        "tests/cli/parts/63_format_auto.sh",
        "tests/cli/parts/63_lossless.sh",
        "tests/cli/parts/64_resident.sh",
        "tests/cli/parts/65_digits.sh",
        "tests/emulator/translate.py",
    ),
    output_fences=("", "console", "text", "output", "sh"),  # fenced blocks of commands and of what programs print
    path_documents=re.compile(
        r"docs/howto/add-[^/]*\.md$|docs/(?:architecture|traceability)\.md$|CONTRIBUTING\.md$"
    ),
    path_places=("", "src/", "include/", "include/tessera/"),  # a path may leave these out
    path_ending=re.compile(r"\.(?:c|h|cu|cuh|cpp|def|inc|py|sh|awk|cmake|md)$"),
    placeholder=re.compile(r"<[^>]*>|NAME|\*"),
    generated=("build",),
)


def print_rules(rules):
    print("A folder of src/ includes itself, the public headers of its floors, and:")
    for name, allowed in rules.floors.items():
        print(f"  src/{name:<12} {allowed or '-'}")
    print("The lowest floor that may include a public header:")
    for name, floor in rules.public_floors.items():
        print(f"  {name:<20} {floor}")
    print("What a header of src/ declares is defined on its floor, or in " + ", ".join(rules.defining_places) + ".")
    print("The most sources of src/ that include a header, by others too:")
    for name, most in rules.most_dependents.items():
        print(f"  {name:<28} {most}")
    print("No two sources call functions of one another, by others too, in " + ", ".join(rules.no_circles))
    print("Another tree includes itself, the public headers, and:")
    for name, allowed in rules.trees.items():
        print(f"  {name:<16} {allowed or '-'}")
    print(f"Exceptions, at most {rules.most_include_exceptions}:")
    for e in rules.include_exceptions:
        print(f"  {e.file} includes {e.included}: {e.reason}")
    print("Names:")
    for rule in rules.names:
        print(f"  {rule.rule} (in {', '.join(rule.trees)}): {rule.sentence}")
        for file, reason in rule.exceptions.items():
            print(f"    except {file}: {reason}")
    print(f"Lines end at column {rules.most_columns}. Rows of Markdown tables, URLs and printed output may be longer,")
    print(f"and so may {', '.join(rules.wide_exempt)}.")
    print(f"A comment in {', '.join(rules.comment_files)} has at most {rules.most_comment_lines} lines,")
    print("except the @file comment in:")
    for file, reason in rules.long_comments.items():
        print(f"  {file}: {reason}")
    print(f"Paths in backticks and links exist in {rules.path_documents.pattern}")


def print_counts(rules, findings):
    counts = collections.Counter((f.rule, place_of(f.file)) for f in findings)
    order = rules.order()
    for (rule, place), count in sorted(counts.items(), key=lambda c: (order.index(c[0][0]), -c[1], c[0][1])):
        print(f"{rule:<18} {place:<18} {count:5d}")


def print_summary(rules, tree, findings, used):
    counts = collections.Counter(f.rule for f in findings)
    print(f"{len(tree.files)} files; findings: " + ", ".join(f"{rule} {counts[rule]}" for rule in rules.order()))
    listed = [f"include {len(used['include'])} of {len(rules.include_exceptions)}"]
    for rule in rules.names:
        listed.append(f"{rule.rule} {len(used['names'] & set(rule.exceptions))} of {len(rule.exceptions)}")
    print("exceptions used: " + ", ".join(listed))


def print_dependents(rules, tree, texts):
    for header, count in count_dependents(rules, texts, tree.files).most_common():
        most = rules.most_dependents.get(header)
        print(f"{header:<56} {count:5d}" + (f" of {most}" if most else ""))


def main(arguments=None, rules=RULES):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check; this one")
    parser.add_argument("--list", action="store_true", help="print the rules and stop")
    parser.add_argument("--counts", action="store_true", help="print the number of findings by rule and folder")
    parser.add_argument("--dependents", action="store_true",
                        help="print how many sources of src/ include each header, by others too")
    options = parser.parse_args(arguments)
    if options.list:
        print_rules(rules)
        return 0
    tree = Tree(options.root)
    findings, used, texts = check_tree(rules, tree)
    findings += check_definitions(rules, texts)
    findings += check_dependents(rules, texts, tree.files)
    findings += check_circles(rules, texts)
    findings.sort(key=lambda f: (rules.order().index(f.rule), f.file, f.line))
    if options.dependents:
        print_dependents(rules, tree, texts)
        return 0
    if options.counts:
        print_counts(rules, findings)
    else:
        for f in findings:
            print(f"{f.file}:{f.line}: {f.rule}: {f.text}")
    print_summary(rules, tree, findings, used)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
