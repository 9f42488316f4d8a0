# SPDX-License-Identifier: Apache-2.0
"""Checks of check_layers.py that read several files together: where functions are defined that headers declare, how
many sources a header reaches, and which sources need one another."""

import collections
import re

from layer_checks import Finding, HEADER, INCLUDE, line_of, place_of, resolve, without_comments

UNIT = re.compile(r"\.(?:c|cu)$")


# ---- declared here, defined there ----

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
LINKAGE = re.compile(r'\bextern\s+""\s*\{')
FUNCTION = re.compile(r"\b(\w+)\s*\(")
NOT_FUNCTIONS = {"__attribute__", "if", "while", "for", "switch", "sizeof", "return"}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def outer_text(text):
    """Text without comments, directives and what braces hold, but for those of extern "C". Lines keep their numbers."""
    text = DIRECTIVE.sub(blank, without_comments(text))
    text = LINKAGE.sub(lambda match: match.group().replace("{", " "), STRING.sub('""', text))
    kept, depth = [], 0
    for part in re.split(r"([{}])", text):
        if part == "{":
            kept.append("{" if depth == 0 else "")
            depth += 1
        elif part == "}":
            kept.append("}" if depth == 1 else "")
            depth = max(depth - 1, 0)
        else:
            kept.append(part if depth == 0 else re.sub(r"[^\n]", "", part))
    return "".join(kept)


def functions_of(text):
    """(name, line, whether it has a body) of the functions outside of braces that are not static."""
    start = 0
    outer = outer_text(text)
    for end in re.finditer(r";|\{[^}]*\}", outer):
        statement = outer[start : end.start()]
        names = [m for m in FUNCTION.finditer(statement) if m.group(1) not in NOT_FUNCTIONS]
        words = set(re.findall(r"\w+", statement[: names[0].start()])) if names else set()
        if words and not words & {"static", "typedef", "TESS_HD"} and "=" not in statement:
            yield names[0].group(1), line_of(outer, start + names[0].start()), end.group() != ";"
        start = end.end()


def check_definitions(rules, texts):
    """A function that a header of one floor declares is defined on that floor; the registry fills in for all."""
    declared, defined = {}, collections.defaultdict(list)
    for path in sorted(texts):
        if not path.startswith("src/"):
            continue
        for name, line, body in functions_of(texts[path]):
            if body:
                defined[name].append(path)
            elif HEADER.search(path):
                declared.setdefault(name, (path, line))
    for name, (path, line) in sorted(declared.items(), key=lambda d: d[1]):
        places = {place_of(where): where for where in defined[name]}
        if places and place_of(path) not in places and not set(places) & set(rules.defining_places):
            where = ", ".join(places[place] for place in sorted(places))
            yield Finding("definition", path, line, f"{name} is defined in {where}: declare it on that floor")


# ---- how many sources a header reaches ----


def reached_files(path, direct):
    """The files that a file includes or needs, by others too."""
    seen, open_ends = {path}, [path]
    while open_ends:
        new = [name for name in direct.get(open_ends.pop(), ()) if name not in seen]
        seen.update(new)
        open_ends += new
    return seen - {path}


def count_dependents(rules, texts, files):
    """{header: number of the sources of src/ that include it}."""
    direct = {
        path: {resolve(rules, path, m.group(2), files) for m in INCLUDE.finditer(text)} - {None}
        for path, text in texts.items()
    }
    counts = collections.Counter()
    for path in texts:
        if path.startswith("src/") and UNIT.search(path):
            counts.update(reached_files(path, direct))
    return counts


def check_dependents(rules, texts, files):
    """A change to a header compiles every source again that includes it: a listed header has so many at most."""
    counts = count_dependents(rules, texts, files)
    for header, most in rules.most_dependents.items():
        if counts[header] > most:
            sentence = f"there may be {most}: include a smaller header, or name the type alone"
            yield Finding("dependents", header, 1, f"{counts[header]} sources of src/ include it; {sentence}")


# ---- sources that need one another ----


def count_calls(texts, folder):
    """{source: {source that defines a function of which the first has the name}} of the sources in a folder."""
    sources = [path for path in sorted(texts) if UNIT.search(path) and path.rpartition("/")[0] == folder]
    defined = {name: path for path in sources for name, _, body in functions_of(texts[path]) if body and name != "main"}
    needs = {}
    for path in sources:
        text = STRING.sub('""', DIRECTIVE.sub(blank, without_comments(texts[path])))
        needs[path] = {defined[word] for word in re.findall(r"\w+", text) if word in defined} - {path}
    return needs


def check_circles(rules, texts):
    """No source of a listed folder needs one that needs it, by others too."""
    for folder in rules.no_circles:
        needs = count_calls(texts, folder)
        reached = {path: reached_files(path, needs) for path in needs}
        for path in sorted(needs):
            circle = sorted(other for other in reached[path] if path in reached[other])
            if circle:
                sentence = "move what both need to a third file"
                yield Finding("circle", path, 1, f"it and {', '.join(circle)} need one another: {sentence}")
