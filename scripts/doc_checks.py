# SPDX-License-Identifier: Apache-2.0
"""How the rules of check_docs.py are checked: each check yields findings of one document."""

import dataclasses
import os
import re
import subprocess
import urllib.parse


@dataclasses.dataclass(frozen=True)
class Finding:
    rule: str
    file: str
    line: int
    text: str


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, its lines, the number of the first, the line above the fence."""

    words: tuple
    lines: tuple
    first: int
    above: str


FENCE = re.compile(r"^ {0,3}(```+|~~~+)(.*)$")


def blocks_of(text):
    """The fenced blocks of a document."""
    found, above, lines = [], "", text.split("\n")
    at = 0
    while at < len(lines):
        match = FENCE.match(lines[at])
        if match:
            first = at + 1
            at = first
            while at < len(lines) and lines[at].strip() != match[1]:
                at += 1
            found.append(Block(tuple(match[2].split()), tuple(lines[first:at]), first + 1, above))
            above = ""
        elif lines[at].strip():
            above = lines[at].strip()
        at += 1
    return found


def without_blocks(text):
    """The same number of lines, with fenced blocks and HTML comments blank."""
    lines = text.split("\n")
    for block in blocks_of(text):
        for at in range(block.first - 2, min(block.first + len(block.lines), len(lines))):
            lines[at] = ""
    return re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), "\n".join(lines), flags=re.S)


# ---- links ----

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.M)
SOURCE = re.compile(r"<(?:img|source)\b[^>]*\bsrc(?:set)?=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(.+?)\1", re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def slug(heading):
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"[`*]", "", plain).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors_of(text):
    plain, anchors = without_blocks(text), set()
    for match in re.finditer(r"^#{1,6} +(.+?) *#*$", plain, re.M):
        name, number = slug(match[1]), 0
        while name in anchors:
            number += 1
            name = f"{slug(match[1])}-{number}"
        anchors.add(name)
    anchors.update(re.findall(r"<a\s+(?:name|id)=\"([^\"]+)\"", plain))
    return anchors


def check_links(path, text, files, read):
    """`files`: every file and folder; `read`: the text of one of them."""
    plain = CODE.sub(blank, without_blocks(text))
    for match in sorted([*LINK.finditer(plain), *REFERENCE.finditer(plain), *SOURCE.finditer(plain)],
                        key=lambda m: m.start()):
        target = match[1].split(" ")[0]
        if re.match(r"[a-zA-Z][a-zA-Z+.-]*:", target):
            continue
        line = plain.count("\n", 0, match.start(1)) + 1
        name, _, anchor = urllib.parse.unquote(target).partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if place not in files and place != ".":
            yield Finding("link", path, line, f"{target}: there is no {place}")
        elif anchor and place.endswith(".md") and anchor not in anchors_of(read(place)):
            yield Finding("link", path, line, f"{target}: {place} has no heading for #{anchor}")


# ---- how a page opens ----

OPENING = re.compile(r"# [^\n]+\n\n\*\*When to (?:use|read) it\.\*\* \S")


def check_opening(path, text):
    """A page says first, in a sentence, to whom it is of use."""
    if not OPENING.match(text):
        yield Finding("opening", path, 1, "begin with the title and a paragraph '**When to use it.** ...', or 'read'")


# ---- raw results, and the size of the tree ----


def check_raw(folder, texts, files):
    """Each file below `folder` is linked from a document of `texts` elsewhere, itself or the folder that it is in."""
    linked = set()
    for path, text in texts.items():
        if not path.startswith(folder):
            for match in LINK.finditer(CODE.sub(blank, without_blocks(text))):
                linked.add(os.path.normpath(os.path.join(os.path.dirname(path), match[1].partition("#")[0])))
    for name in sorted(files):
        if name.startswith(folder) and name not in linked and os.path.dirname(name) not in linked:
            yield Finding("raw", name, 1, "no document links it: link it from its page, or remove it")


FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")


def check_figures(path, text, texts):
    """Numbers with a decimal point in a table's row that links to a page of results are numbers of that page."""
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        pages = [p for p in re.findall(r"\]\((docs/results/[^)#/]+\.md)", line) if p in texts]
        if not line.startswith("|") or not pages:
            continue
        known = {float(word) for page in pages for word in FIGURE.findall(texts[page])}
        for word in FIGURE.findall(LINK.sub(" ", line)):
            if "." in word and float(word) not in known:
                yield Finding("figure", path, number, f"{word} is not on {', '.join(pages)}")


COMMIT = re.compile(r"\*\*[^*]*\bcommit\b[^*]*\*\*", re.I)


def check_commit(path, text):
    """The text above the first section says in bold which commit was measured, and on what."""
    if not COMMIT.search(text.partition("\n## ")[0]):
        yield Finding("commit", path, 1, "say in bold above the first section which commit was measured, and on what")


def check_size(sizes, most):
    """`sizes`: bytes of each file; `most`: the most bytes of all files below a folder, by its name."""
    for folder, limit in most.items():
        below = {name: size for name, size in sizes.items() if name.startswith(folder)}
        if sum(below.values()) > limit:
            large = ", ".join(sorted(below, key=below.get, reverse=True)[:3])
            total = sum(below.values())
            yield Finding("size", folder or ".", 1, f"{total:,} bytes, more than {limit:,}; largest: {large}")


# ---- copies of files ----

COPY = re.compile(r"^<!-- *file: *(\S+) *-->$")
LICENCE = re.compile(r"^(?:/\* SPDX-[^\n]*\*/|# SPDX-[^\n]*)\n")


def check_copies(path, text, files, read):
    """A block below `<!-- file: NAME -->` has the text of that file, but for the line of its licence."""
    for block in blocks_of(text):
        match = COPY.match(block.above)
        if not match:
            continue
        if match[1] not in files:
            yield Finding("copy", path, block.first, f"there is no {match[1]}")
        elif LICENCE.sub("", read(match[1])).rstrip("\n") != "\n".join(block.lines):
            yield Finding("copy", path, block.first, f"the block differs from {match[1]}")


# ---- commands and their output ----

NUMBER = r"[-+]?(?:\d+(?:,\d{3})+|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
UNITS = {"TIME": r"ns|us|ms|s|min", "SIZE": r"B|kB|MB|GB", "RATE": r"[kMG]?B/s"}


def normal(line):
    """A line of output without what changes from run to run or from machine to machine: numbers and their units."""
    line = re.sub(rf"(?<![A-Za-z_\d.]){NUMBER}(?![A-Za-z_\d])", "#", line)
    for name, units in UNITS.items():
        line = re.sub(rf"# (?:{units})(?![A-Za-z/])", f"# {name}", line)
    line = re.sub(r"# (thread|residual replacement|iteration)s?\b", r"# \1", line)
    return re.sub(r"\s+", " ", line).strip()


def commands_of(block):
    """(command, line of it, the lines that it prints), in order."""
    found, at = [], 0
    while at < len(block.lines):
        line = block.lines[at]
        if not line.startswith("$ "):
            if found:
                found[-1][2].append(line)
            at += 1
            continue
        first, command = at, line[2:]
        while command.endswith("\\") and at + 1 < len(block.lines):
            at += 1
            command = command[:-1] + block.lines[at].removeprefix("> ").lstrip()
        found.append((command, block.first + first, []))
        at += 1
    return found


COUNT = re.compile(r"\biterations?\b[\"']?:? +(\d+)\b(?!\.)|(?<![\w.-])(\d+) (?:[a-z]+ )?iterations?\b")
HEAD = re.compile(r"(?<![\w-])iterat(?:ions|\.)(?! *\d)(?= {2,}\S)")  # of a column


def spans_overlap(a, b):
    return a[0] < b[1] and b[0] < a[1]


def counts_of(lines):
    """The numbers of iterations in each line: beside the word, or below it in a table."""
    column, found = None, []
    for line in lines:
        head = HEAD.search(line)
        numbers = [int(match[1] or match[2]) for match in COUNT.finditer(line) if "at most" not in line[:match.start()]]
        if head:
            column = head.span()
        elif column and not numbers:
            numbers = [int(match[0]) for match in re.finditer(r"(?<![\w.])\d+(?![\w.])", line)
                       if spans_overlap(match.span(), column)]
        found.append(numbers)
    return found


def same_counts(told, printed):
    """Iterations repeat on one machine; the order of a compiler's sums may change one, or two of a hundred. A
    document that leaves out the head of a table tells none."""
    return not told or len(told) == len(printed) and all(abs(a - b) <= max(1, 0.02 * b) for a, b in zip(told, printed))


def same_output(told, printed):
    """Whether the lines are the same up to numbers, and iterations nearly; a line `...` of the document stands for any
    lines."""
    told, printed = [line for line in told if line.strip()], [line for line in printed if line.strip()]
    return match_lines(list(zip(map(normal, told), counts_of(told))),
                       list(zip(map(normal, printed), counts_of(printed))))


def match_lines(told, printed):
    if not told:
        return not printed
    if told[0][0] == "...":
        return any(match_lines(told[1:], printed[at:]) for at in range(len(printed) + 1))
    return (bool(printed) and told[0][0] == printed[0][0] and same_counts(told[0][1], printed[0][1]) and
            match_lines(told[1:], printed[1:]))


def first_difference(told, printed):
    told, printed = [line for line in told if line.strip()], [line for line in printed if line.strip()]
    for ours, theirs, *counts in zip(told, printed, counts_of(told), counts_of(printed)):
        if ours.strip() == "..." or normal(ours) != normal(theirs) or not same_counts(*counts):
            return f"the document has '{ours.strip()}', the command prints '{theirs.strip()}'"
    if len(told) > len(printed):
        return f"the command does not print '{told[len(printed)].strip()}'"
    return f"the command also prints '{printed[len(told)].strip()}'" if printed[len(told):] else "lines differ"


def run_command(command, place, environment, seconds):
    done = subprocess.run(["bash", "-c", command], cwd=place, env=environment, timeout=seconds, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace").split("\n")


NOT_RUN = re.compile(r"^<!-- *(?:gpu|illustrative)\b.*-->$")


def check_console(path, text, place, environment, seconds=120):
    """Runs the commands of each block ```console in the folder `place`, one block after another.

    A comment <!-- gpu --> or <!-- illustrative --> above a block says that it is not run.
    """
    for block in blocks_of(text):
        if block.words != ("console",) or NOT_RUN.match(block.above):
            continue
        for command, line, told in commands_of(block):
            try:
                status, printed = run_command(command, place, environment, seconds)
            except subprocess.TimeoutExpired:
                yield Finding("console", path, line, f"not done after {seconds} s: {command}")
                continue
            if status < 0 or status >= 126:  # by a signal, or not found
                yield Finding("console", path, line, f"exit status {status}: {' '.join(printed)[:200]}")
            elif not same_output(told, printed):
                yield Finding("console", path, line, first_difference(told, printed))


# ---- prose ----

@dataclasses.dataclass(frozen=True)
class Style:
    most_words: int  # of a sentence
    most_long: float  # share of sentences of more than `long_words`
    long_words: int
    most_passive: float  # share of sentences with a passive
    fewest_sentences: int  # shares are not told of shorter documents
    banned: dict  # pattern: what to write in its place


PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)(?: (?:not|also|then|always|never|only|still|usually))?"
    r" (?:[a-z]{2,}ed|made|done|built|read|written|taken|given|found|kept|held|known|left|chosen|seen|shown|sent|put"
    r"|told|begun|meant|thrown|hidden|drawn|cut|split|lost|run|set|brought|led|laid|said)\b")


def sentences_of(text):
    """(line, sentence) of the running text: no blocks, tables, headings or targets of links; each list item apart."""
    link = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)\s]*\)")
    plain = link.sub(lambda m: m[1], without_blocks(text))
    plain = CODE.sub(lambda m: "Code" + "\n" * m[0].count("\n"), plain)
    paragraphs, current, first = [], [], 0
    for number, line in enumerate([*plain.split("\n"), ""], 1):
        bare = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.) +", bare)
        apart = not bare or bare.startswith(("|", "#", "<")) or line.startswith("    ") and not current
        if (apart or item) and current:
            paragraphs.append((first, " ".join(current)))
            current = []
        if apart:
            continue
        if not current:
            first = number
        current.append(bare[item.end():] if item else bare)
    for line, paragraph in paragraphs:
        for sentence in re.split(r"(?<=[.!?:;])(?:\*\*)? +(?=[\"'(*]*[A-Z0-9])|(?<=;) +", paragraph):
            if len(sentence.split()) > 1:
                yield line, sentence


def check_style(path, text, style):
    sentences = list(sentences_of(text))
    for line, sentence in sentences:
        if len(sentence.split()) > style.most_words:
            yield Finding("style", path, line, f"{len(sentence.split())} words in a sentence: {sentence[:60]} ...")
    plain = CODE.sub(blank, without_blocks(text))
    for pattern, instead in style.banned.items():
        for match in re.finditer(pattern.replace(" ", r"\s+"), plain, re.I):
            line = plain.count("\n", 0, match.start()) + 1
            yield Finding("style", path, line, f"'{' '.join(match[0].split())}': {instead}")
    if len(sentences) < style.fewest_sentences:
        return
    for what, most, count in (
            (f"more than {style.long_words} words", style.most_long,
             sum(len(s.split()) > style.long_words for _, s in sentences)),
            ("a passive", style.most_passive, sum(bool(PASSIVE.search(s)) for _, s in sentences))):
        if count > most * len(sentences):
            yield Finding("style", path, 1, f"{count} of {len(sentences)} sentences have {what}; "
                                            f"there may be {100 * most:.0f} %")
