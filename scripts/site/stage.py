#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stage.py FOLDER: what Sphinx reads. The pages and pictures as they are, and a page for each header and each part of
the Python package, which names them and has no text of its own. The parts of the site are in SECTIONS."""
import ast
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from layer_checks import list_files  # noqa: E402 (its folder is added above)

# Title, and the pages in order: a name, or a pattern for all that are not named before, those that docs/index.md links
# in its order. README.md is the front page.
SECTIONS = [
    ("tutorials", "Tutorials", ["docs/index", "docs/tutorials/first-hour", "docs/tutorials/*", "docs/howto/install"]),
    ("concepts", "Concepts", ["docs/concepts/*", "docs/glossary"]),
    ("howto", "How to", ["docs/howto/*"]),
    ("reference", "Reference", ["docs/reference/*", "data/README"]),
    ("python", "Python", ["docs/python/index", "docs/python/install", "docs/python/*", "api/python/*"]),
    ("c", "C interface", ["api/c/tessera", "api/c/*"]),
    ("results", "Results", ["docs/results/README", "docs/results/*", "docs/design-notes/README",
                            "docs/design-notes/*"]),
    ("code", "Code", ["docs/architecture", "CONTRIBUTING", "docs/traceability", "CHANGELOG", "findings/README",
                      "python/README", "src/*"]),
]
PAGES = (".md", ".ipynb")
PICTURES = (".svg", ".png")
UNDEFINED = ("TESS_CASE",)  # macros that a header takes back
LEFT_OUT = ("tests/", "bench/", "build", "docs/results/raw/", ".")


def put(folder, name):
    """A page or picture of the repository, at its place within `folder`; README.md is index.md."""
    place = folder / ("index.md" if name == "README.md" else name)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, place)


def mend(doxygen):
    """What the C domain of Sphinx takes: one declaration for a struct or an enum and the typedef of the same name, one
    for a typedef that two headers repeat, and no blank between the names of parameters that share a text. The hyphens
    of an option are no dash."""
    for path in doxygen.glob("*.xml"):
        path.write_text(path.read_text().replace("<ndash/>", "--"))
    trees = {path: ElementTree.parse(path) for path in sorted(doxygen.glob("*_8h.xml"))}
    seen = {element.findtext("name") or element.findtext("compoundname")
            for path in doxygen.glob("*.xml") for element in ElementTree.parse(path).iter()
            if element.get("kind") in ("struct", "enum")}
    own = sorted(trees, key=lambda path: path.name == "papers_8h.xml")  # it repeats what others declare
    for path in own:
        for section in trees[path].iter("sectiondef"):
            for member in section.findall("memberdef"):
                name, kind = member.findtext("name"), member.get("kind")
                if kind == "typedef" and name in seen or kind == "define" and name in UNDEFINED:
                    section.remove(member)
                elif kind == "typedef":
                    seen.add(name)
    for path, tree in trees.items():
        for names in tree.iter("parameternamelist"):
            parts = names.findall("parametername")
            parts[0].text = ",".join(part.text for part in parts)
            for part in parts[1:]:
                names.remove(part)
        tree.write(path, encoding="UTF-8", xml_declaration=True)


def c_pages(folder):
    for header in sorted((ROOT / "include/tessera").glob("*.h")):
        page = folder / "api/c" / (header.stem + ".rst")
        page.parent.mkdir(parents=True, exist_ok=True)
        title = f"tessera/{header.name}"
        page.write_text(f"{title}\n{'=' * len(title)}\n\n.. highlight:: c\n\n.. doxygenfile:: {header.name}\n"
                        "   :sections: detaileddescription innerclass enum typedef func define var public-attrib\n")


def python_parts():
    """{module: [name ...]} of what the package offers, as its __init__.py imports it."""
    tree = ast.parse((ROOT / "python/tessera_sparse/__init__.py").read_text())
    offered = next(ast.literal_eval(node.value) for node in tree.body
                   if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    return {node.module: [name.name for name in node.names if name.name in offered] for node in tree.body
            if isinstance(node, ast.ImportFrom)}


def python_pages(folder):
    place = folder / "api/python"
    place.mkdir(parents=True)
    for module, names in python_parts().items():
        if not names:
            continue
        title = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
        lines = [title, "=" * len(title), "", ".. currentmodule:: tessera_sparse", ""]
        source = ast.parse((ROOT / f"python/tessera_sparse/{module}.py").read_text())
        classes = {node.name for node in source.body if isinstance(node, ast.ClassDef)}
        for name in names:
            lines += [f".. autoclass:: {name}\n   :members:\n" if name in classes else f".. autofunction:: {name}\n"]
        (place / f"{module.strip('_')}.rst").write_text("\n".join(lines))
    for module in ("torch", "jax", "lineax"):
        title = f"tessera_sparse.{module}"
        (place / f"{module}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n.. automodule:: {title}\n   :members:\n")


def matches(folder, pattern):
    if not pattern.endswith("*"):
        return [pattern]
    index = (ROOT / "docs/index.md").read_text()

    def place(page):
        at = index.find(f"({page.removeprefix('docs/')}.md")
        return (at < 0, at, page)

    return sorted((str(path.relative_to(folder).with_suffix("")) for path in (folder / pattern[:-1]).rglob("*")
                   if path.suffix in (*PAGES, ".rst")), key=place)


def summary(folder, page):
    """When to use a page, as it says itself; of a header what it declares."""
    source = ROOT / "include/tessera" / (page.removeprefix("api/c/") + ".h")
    if page.startswith("api/c/"):
        found = re.search(r"@file \S+\s+(.*?\.)(?:\s|$)", source.read_text(), re.S)
    else:
        text = (folder / (page + ".md")).read_text() if (folder / (page + ".md")).exists() else ""
        found = re.search(r"^\*\*When to (?:use|read) it\.\*\* (.*?)\n\n", text, re.S | re.M)
    return ": " + re.sub(r"[`*]|\s*\n[ *]*", " ", found[1]).replace("  ", " ") if found else ""


def table_of_contents(folder):
    """_toc.yml for sphinx-external-toc, and the first page of each section."""
    lines, taken = ["root: index", "subtrees:", "- titlesonly: true", "  entries:"], set()
    for name, title, patterns in SECTIONS:
        lines += [f"  - file: {name}", "    subtrees:", "    - titlesonly: true", "      hidden: true",
                  "      entries:"]
        first = [title, "=" * len(title), ""]
        for page in (page for pattern in patterns for page in matches(folder, pattern)):
            if page not in taken:
                taken.add(page)
                lines.append(f"      - file: {page}")
                first.append(f"- :doc:`/{page}`" + summary(folder, page).replace("|", "\\|"))
        (folder / f"{name}.rst").write_text("\n".join(first) + "\n")
    (folder / "_toc.yml").write_text("\n".join(lines) + "\n")


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for name in list_files(ROOT):
        if name.endswith((*PAGES, *PICTURES)) and not name.startswith(LEFT_OUT):
            put(folder, name)
    mend(folder.parent / "doxygen")
    c_pages(folder)
    python_pages(folder)
    table_of_contents(folder)
    # The package's declarations come from the headers; the library itself is not needed to read docstrings.
    package = folder.parent / "python/tessera_sparse"
    shutil.rmtree(package.parent, ignore_errors=True)
    shutil.copytree(ROOT / "python/tessera_sparse", package)
    subprocess.run([sys.executable, ROOT / "python/generate_abi.py", ROOT / "include", package / "_abi.py"],
                   check=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
