# SPDX-License-Identifier: Apache-2.0
"""How the rules of check_layers.py are checked: each check yields findings of one file."""

import collections
import dataclasses
import os
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class AllowedInclude:
    """An include that the table does not allow, and why it stays."""

    file: str
    included: str
    reason: str


@dataclasses.dataclass(frozen=True)
class NameRule:
    """Names that stay in the folders and files of `home`; `exceptions` are files elsewhere, each with its reason.

    A file is searched for `pattern` when it has one of `words`, which takes less time.
    """

    rule: str
    words: tuple
    pattern: re.Pattern
    home: tuple
    sentence: str
    trees: tuple = ("src", "cli", "include")
    exceptions: dict = dataclasses.field(default_factory=dict)
    once_per_lines: int = 0  # findings that follow each other within so many lines are told once


@dataclasses.dataclass(frozen=True)
class Rules:
    floors: dict
    trees: dict
    include_paths: tuple
    toolkits: tuple
    include_exceptions: tuple
    most_include_exceptions: int
    public_floors: dict
    defining_places: tuple
    most_dependents: dict
    no_circles: tuple
    names: tuple
    most_columns: int
    most_comment_lines: int
    comment_files: tuple
    long_comments: dict
    wide_files: re.Pattern
    wide_exempt: tuple
    output_fences: tuple
    path_documents: re.Pattern
    path_places: tuple
    path_ending: re.Pattern
    placeholder: re.Pattern
    generated: tuple

    def order(self):
        names = [rule.rule for rule in self.names]
        first = ["include", "include-exceptions", "definition", "dependents", "circle", "guard"]
        return [*first, *names, "columns", "comment", "path"]


@dataclasses.dataclass(frozen=True)
class Finding:
    rule: str
    file: str
    line: int
    text: str


class Tree:
    """The files of a checkout, and every folder that they are in."""

    def __init__(self, root):
        self.root = root
        self.files = set(list_files(root))
        self.paths = set(self.files)
        for name in self.files:
            while "/" in name:
                name = name.rsplit("/", 1)[0]
                self.paths.add(name)
        self.basenames = {name.rsplit("/", 1)[-1] for name in self.files}
        self.tops = {name.split("/")[0] for name in self.files if "/" in name}

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")


def list_files(root):
    """What git tracks or would track; every file where `root` is no checkout."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
        return [name for name in listed.split("\0") if name and (root / name).is_file()]
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return found


def line_of(text, at):
    return text.count("\n", 0, at) + 1


# ---- includes ----

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def place_of(path):
    """The folder of src/ that a file is in, or the tree."""
    parts = path.split("/")
    return "src/" + parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def floor_of(rules, path):
    """The place of a file; of a public header the lowest floor that may include it, None where the table has it not."""
    if path.startswith("include/"):
        floor = rules.public_floors.get(path.rsplit("/", 1)[-1])
        return floor and "src/" + floor
    return place_of(path)


def allowed_places(rules, place):
    """What a place may include, beside itself and the public headers; None when no rule names the place."""
    table, prefix = (rules.floors, "src/") if place.startswith("src/") else (rules.trees, "")
    allowed = table.get(place.removeprefix(prefix))
    return None if allowed is None else [prefix + name for name in allowed.split()]


def may_include(rules, place, path):
    """Whether a place may include a file. All trees but src/ may include every public header; one without a floor is
    told by itself."""
    target = floor_of(rules, path)
    if path.startswith("include/") and (target is None or not place.startswith("src/")):
        return True
    allowed = allowed_places(rules, place) or ()
    return target == place or target in allowed or place_of(path).split("/")[0] in allowed


def describe_allowed(rules, place):
    allowed = allowed_places(rules, place)
    if allowed is None:
        return f"{place} is not in the table of floors"
    names = [name.removeprefix("src/") for name in allowed]
    return f"{place} may include " + ", ".join(["its own headers", "public headers", *names])


def resolve(rules, path, name, files):
    """The file that an include means, or None for one outside the repository."""
    tree = path.split("/")[0]
    folders = [os.path.dirname(path), *rules.include_paths, tree]
    if tree == "tests":
        folders.append("tests/support")
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        if candidate in files:
            return candidate
    return None


def check_includes(rules, path, text, files, used):
    place = floor_of(rules, path)
    if place is None:
        sentence = "is not in the table of public headers: name the lowest floor that includes it"
        yield Finding("include", path, 1, sentence)
        return
    for match in INCLUDE.finditer(text):
        mark, name = match.groups()
        target = resolve(rules, path, name, files)
        line = line_of(text, match.start())
        if target is None:
            if mark == '"' and not name.startswith(rules.toolkits):
                yield Finding("include", path, line, f'"{name}" is no file of the repository')
            continue
        if may_include(rules, place, target):
            continue
        excepted = [e for e in rules.include_exceptions if (e.file, e.included) == (path, target)]
        if excepted:
            used.update(excepted)
        else:
            yield Finding("include", path, line, f"includes {target}; {describe_allowed(rules, place)}")


def check_exceptions(rules, used):
    here, count = "scripts/check_layers.py", len(rules.include_exceptions)
    if count > rules.most_include_exceptions:
        text = f"{count} exceptions of includes; there may be {rules.most_include_exceptions}"
        yield Finding("include-exceptions", here, 1, text)
    for e in rules.include_exceptions:
        if e not in used:
            text = f"{e.file} does not include {e.included}: take the exception out"
            yield Finding("include-exceptions", here, 1, text)


# ---- names ----

COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|/\*.*?\*/|//[^\n]*""", re.S)


def without_comments(text):
    """Comments become blanks; lines keep their numbers."""
    return COMMENT.sub(lambda match: match.group(1) or re.sub(r"[^\n]", " ", match.group()), text)


def check_names(rules, path, text, used):
    stripped = None
    for rule in rules.names:
        if path.split("/")[0] not in rule.trees or path.startswith(rule.home):
            continue
        if not any(word in text for word in rule.words):
            continue
        stripped = without_comments(text) if stripped is None else stripped
        last = -rule.once_per_lines - 1
        for match in rule.pattern.finditer(stripped):
            if path in rule.exceptions:
                used.add(path)
                break
            line = line_of(stripped, match.start())
            if line - last > rule.once_per_lines:
                yield Finding(rule.rule, path, line, f"{' '.join(match.group().split())}: {rule.sentence}")
            last = line


# ---- guards ----

GUARD = re.compile(r"#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n#[ \t]*define[ \t]+\1[ \t]*\n")
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*include\b[^\n]*")


def guard_of(path):
    """The name of a header's guard, from its path."""
    top, name = path.split("/")[0], path.rsplit("/", 1)[-1]
    if "include" in path.split("/"):
        return "TESSERA_" + as_macro(name).removeprefix("TESSERA_")
    return "TESS_" + as_macro(path.removeprefix("src/") if top == "src" else path)


def as_macro(path):
    return re.sub(r"\W", "_", path).upper()


def check_guards(path, text):
    """A header has the guard that its path says, unless its head says how often it is included, or it only includes."""
    stripped = without_comments(text).strip()
    found = GUARD.match(stripped + "\n")
    if not found and ("Included once" in text or not DIRECTIVE.sub("", stripped).strip()):
        return
    name = found.group(1) if found else "none"
    if name != guard_of(path):
        yield Finding("guard", path, 1, f"its guard is {name}; by its path it would be {guard_of(path)}")


# ---- columns ----

URL = re.compile(r"\w+://\S+")


def output_lines(rules, text):
    """The lines of a Markdown text that show what a program printed."""
    fence, lines = None, set()
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = line.strip().strip("`").strip() if fence is None else None
        elif fence is not None and fence in rules.output_fences:
            lines.add(number)
    return lines


def check_columns(rules, path, text):
    most = rules.most_columns
    wide = [(line_of(text, m.start()), m.group()) for m in re.finditer(r"^.{%d,}$" % (most + 1), text, re.M)]
    printed = output_lines(rules, text) if wide and path.endswith(".md") else ()
    for number, line in wide:
        row = path.endswith(".md") and line.lstrip().startswith("|")
        if not row and number not in printed and len(URL.sub("", line)) > most:
            yield Finding("columns", path, number, f"{len(line)} columns; there may be {most}")


# ---- comments of public headers ----


def check_comments(rules, path, text):
    """A comment of a public header has so many lines at most; the @file comment of listed files may have more."""
    for match in COMMENT.finditer(text):
        lines = match.group().count("\n") + 1
        listed = "@file" in match.group() and path in rules.long_comments
        if lines > rules.most_comment_lines and not match.group(1) and not listed:
            sentence = f"there may be {rules.most_comment_lines}: move the rest to a page of docs/reference/"
            yield Finding("comment", path, line_of(text, match.start()), f"a comment of {lines} lines; {sentence}")


# ---- paths in documents ----

SPAN = re.compile(r"`([^`\n]+)`|\]\(([^)\s]+)\)")
PATH_LETTERS = re.compile(r"[A-Za-z0-9{][\w.{},*<>/-]*")


def is_path(rules, word, tops):
    """Whether a word in backticks means a file or folder of the repository: by its ending, or by where it begins."""
    if not PATH_LETTERS.fullmatch(word) or word.split("/")[0] in rules.generated:
        return False
    return bool(rules.path_ending.search(word)) or ("/" in word and word.split("/")[0] in tops)


def named_paths(rules, text, tops):
    """(where, path) of each path in backticks and each link to a file."""
    for match in SPAN.finditer(text):
        code, link = match.groups()
        if link is not None:
            words = [] if "://" in link or link.startswith(("#", "mailto:")) else [link.split("#")[0]]
        else:
            words = [re.sub(r":\d.*$", "", word.strip(",.;:()\"'")) for word in code.split()]
            words = [word for word in words if is_path(rules, word, tops)]
        for word in words:
            for name in expand_braces(word):
                yield match.start(), name


def expand_braces(name):
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    ends = [name[: match.start()] + part + name[match.end() :] for part in match.group(1).split(",")]
    return [expanded for end in ends for expanded in expand_braces(end)]


def path_exists(rules, name, folder, tree):
    name = name.rstrip("/")
    candidates = {os.path.normpath(place + name) for place in (*rules.path_places, folder)}
    if candidates & tree.paths or name in tree.basenames:
        return True
    if not rules.placeholder.search(name):
        return False
    patterns = ["[^/]*".join(map(re.escape, rules.placeholder.split(c))) for c in candidates]
    if "/" not in name:
        patterns = ["(?:.*/)?" + pattern for pattern in patterns]
    either = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    return any(either.fullmatch(path) for path in tree.paths)


def check_paths(rules, path, text, tree):
    folder = os.path.dirname(path) + "/" if "/" in path else ""
    for at, name in named_paths(rules, text, tree.tops | set(rules.floors)):
        if not path_exists(rules, name, folder, tree):
            yield Finding("path", path, line_of(text, at), f"{name} does not exist")


# ---- all of it ----

SOURCE = re.compile(r"\.(?:c|h|cu|cuh|cpp|def|inc)$")
HEADER = re.compile(r"\.(?:h|cuh)$")


def check_tree(rules, tree):
    """The findings of each file, what was used of each list of exceptions ({rule: set}), and the sources' texts."""
    findings, used, texts = [], collections.defaultdict(set), {}
    for path in sorted(tree.files):
        source = SOURCE.search(path) and path.split("/")[0] in ("src", *rules.trees)
        wide = rules.wide_files.search(path) and not path.startswith(rules.wide_exempt)
        document = rules.path_documents.match(path)
        if not (source or wide or document):
            continue
        text = tree.read(path)
        if source:
            texts[path] = text
            findings += check_includes(rules, path, text, tree.files, used["include"])
            findings += check_names(rules, path, text, used["names"])
        if source and HEADER.search(path):
            findings += check_guards(path, text)
        if wide:
            findings += check_columns(rules, path, text)
        if source and path.startswith(rules.comment_files):
            findings += check_comments(rules, path, text)
        if document:
            findings += check_paths(rules, path, text, tree)
    findings += check_exceptions(rules, used["include"])
    return findings, used, texts
