# SPDX-License-Identifier: Apache-2.0
"""What the site adds to Sphinx: links between files of the repository as they stand in its documents, pages that show
sources and raw results, and objects for the search: options and words of the glossary."""
import html
import os
import pathlib
import re
import shutil

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.domains.c import CDomain
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOGGER = logging.getLogger(__name__)
FILES = "files/"  # where the site shows files of the repository
MOST_SHOWN = 300_000  # bytes of a file that is shown as a page; a larger one is copied as it is
COPIED = (".xz", ".gz", ".png", ".svg", ".json", ".npy", ".npz")
NAMED = re.compile(r"(?<![\w/.-])(?:docs|examples|tests|src|bench|include|petsc|cli|scripts|data|findings)"
                   r"/[\w./-]*\.(?:md|c|cu|cuh|h|cpp|py|sh)\b")


def document_of(env, path):
    """The document of a page of the repository, or None."""
    if path in ("", "."):
        path = "README.md"
    name = "index" if path == "README.md" else os.path.splitext(path)[0]
    return name if path.endswith((".md", ".ipynb")) and name in env.found_docs else None


def is_shown(path):
    return not path.endswith(COPIED) and (ROOT / path).stat().st_size <= MOST_SHOWN


def address_of(env, path):
    """The address of a file or folder of the repository within the site; the site then has it."""
    env.tessera_files.add(path)
    if (ROOT / path).is_dir():
        return f"{FILES}{path}/index.html"
    return FILES + path + (".html" if is_shown(path) else "")


def reference(env, docname, path, text_nodes, anchor=None):
    """A link from a document to a file or folder: its page, where it has one."""
    target = document_of(env, path) or ((ROOT / path).is_dir() and document_of(env, f"{path}/README.md"))
    if target:
        node = addnodes.pending_xref("", *text_nodes, refdomain="doc", reftype="myst", reftarget=target,
                                     reftargetid=anchor, refdoc=docname, refexplicit=True)
        return node
    up = "../" * docname.count("/")
    return nodes.reference("", "", *text_nodes, internal=True, refuri=up + address_of(env, path),
                           classes=["tessera-file-link"])


class RepositoryLinks(SphinxTransform):
    """Links of Markdown to files; in the reference, whose text names files, links from those names."""

    default_priority = 500

    def apply(self, **_options):
        docname = self.env.docname
        if docname.startswith("api/"):
            self.link_names(docname)
        else:
            self.link_targets(docname, os.path.dirname(docname))

    def link_targets(self, docname, folder):
        for node in list(self.document.findall(lambda n: isinstance(n, addnodes.pending_xref |
                                                                    addnodes.download_reference))):
            if node.get("reftype") != "myst" or node.get("refdomain") == "doc":
                continue
            name, _, anchor = node["reftarget"].partition("#")
            path = os.path.normpath(os.path.join(folder, name))
            if name and (ROOT / path).exists():
                inner = node.children[0].children if isinstance(node.children[0], nodes.inline) else node.children
                node.replace_self(reference(self.env, docname, path, [n.deepcopy() for n in inner], anchor or None))

    def link_names(self, docname):
        for text in list(self.document.findall(nodes.Text)):
            parent = text.parent
            if isinstance(parent, nodes.literal_block | nodes.reference | nodes.title):
                continue
            pieces, end = [], 0
            for match in NAMED.finditer(text):
                if (ROOT / match[0]).exists():
                    pieces += [nodes.Text(text[end:match.start()]),
                               reference(self.env, docname, match[0], [nodes.inline("", match[0])])]
                    end = match.end()
            if pieces:
                parent.replace(text, [*pieces, nodes.Text(text[end:])])


# ---- objects for the search, and anchors that are raw HTML ----

FOUND_FIRST, FOUND_LATE = 0, 2  # of Sphinx's priorities


class Interface(CDomain):
    """The search finds functions and types of C before the fields of structs, and no parameters."""

    def get_objects(self):
        for name, shown, kind, docname, anchor, priority in super().get_objects():
            if kind != "functionParam":
                yield name, shown, kind, docname, anchor, FOUND_LATE if kind == "member" else priority



ANCHOR = re.compile(r'<a id="([^"]+)">$')


def note_objects(app, document):
    docname = app.env.docname
    slugs = app.env.metadata[docname].setdefault("myst_slugs", {})
    standard = app.env.domains.standard_domain
    for raw in list(document.findall(nodes.raw)):
        match = ANCHOR.match(raw.astext().strip())
        if match:
            word = next((node.astext() for node in raw.parent.children if isinstance(node, nodes.strong)), match[1])
            raw.replace_self(nodes.target("", "", ids=[match[1]]))
            slugs[match[1]] = (raw.line, match[1], word)
            if docname == "docs/glossary":
                standard.note_object("tessera-word", word.strip("."), match[1], location=raw)
        elif raw.astext().strip() == "</a>":
            raw.parent.remove(raw)
    if docname == "docs/reference/options":
        for row in document.findall(nodes.row):
            option = row.next_node(nodes.literal)
            if option is not None and option.astext().startswith("--"):
                identity = "option" + option.astext().replace("_", "-")
                row["ids"].append(identity)
                standard.note_object("tessera-option", option.astext(), identity, location=row)


# ---- names of the interface in documents lead to the reference ----

def known_names(env):
    names = {}
    for name, _, kind, docname, anchor, _ in env.domains.c_domain.get_objects():
        if kind != "member":
            names[name] = (docname, anchor)
    for name, _, _, docname, anchor, _ in env.domains.python_domain.get_objects():
        if name.startswith("tessera_sparse."):
            names[name.replace("tessera_sparse.", "ts.", 1)] = (docname, anchor)
    for (kind, name), place in env.domains.standard_domain.objects.items():
        if kind == "tessera-option":
            names[name] = place
    return names


MOST_WHOLE = 24  # characters of code that is not broken at the end of a line


def link_literals(app, document, docname):
    names = app.env.tessera_names = getattr(app.env, "tessera_names", None) or known_names(app.env)
    for literal in list(document.findall(nodes.literal)):
        text = literal.astext()
        if len(text) <= MOST_WHOLE and isinstance(literal.parent, nodes.paragraph | nodes.reference):
            literal["classes"].append("tessera-whole")
        found = names.get(text.removesuffix("()"))
        if not found or found[0] == docname or isinstance(literal.parent, nodes.reference | nodes.title):
            continue
        address = app.builder.get_relative_uri(docname, found[0]) + "#" + found[1]
        literal.replace_self(nodes.reference("", "", literal.deepcopy(), internal=True, refuri=address))


# ---- docstrings of Python: plain text to reStructuredText ----

def plain_to_rst(_app, what, _name, _object, _options, lines):
    """Bars and stars are no markup in our docstrings; one backtick marks code; what is indented after a blank line in
    the text of a module is an example."""
    code = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            code = True
        elif not line.strip():
            code = False
        if what == "module" and line.startswith("    "):
            code = True
        if not code:
            parts = re.split(r"(`+[^`]+`+)", line)
            lines[number] = "".join(f"``{part.strip('`')}``" if part.startswith("`") else
                                    re.sub(r"([|*\\])", r"\\\1", part) for part in parts)
    if what == "module":
        for number in range(len(lines) - 1, 0, -1):
            if lines[number].startswith("    ") and not lines[number - 1].strip():
                lines[number:number] = [".. code-block:: python", ""]


# ---- pages that show files ----

def show_folder(path):
    entries = sorted(os.listdir(ROOT / path))
    shown = [name for name in entries if (ROOT / path / name).is_file() and not name.startswith(".")]
    below = [name for name in entries if (ROOT / path / name).is_dir() and not name.startswith((".", "__"))]
    return shown, below


def with_folders(paths):
    """The files of linked folders belong to the site too."""
    found, waiting = set(), sorted(paths)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if (ROOT / path).is_dir():
            shown, below = show_folder(path)
            waiting += [f"{path}/{name}" for name in shown + below]
    return found


def file_pages(app):
    env, out = app.env, pathlib.Path(app.outdir)
    formatter = HtmlFormatter(cssclass="highlight", wrapcode=True)
    for path in sorted(with_folders(env.tessera_files)):
        title = html.escape(path)
        heading = title.replace("/", "/<wbr>")  # where a narrow window may break it
        if (ROOT / path).is_dir():
            items = []
            for name in (n for part in show_folder(path) for n in part):
                inner = f"{path}/{name}"
                page = document_of(env, inner)
                if page:
                    address = os.path.relpath(page + ".html", FILES + path)
                else:
                    address = os.path.relpath(address_of(env, inner), FILES + path)
                folder = "/" if (ROOT / inner).is_dir() else ""
                items.append(f'<li><a href="{html.escape(address)}">{html.escape(name)}{folder}</a></li>')
            body = f'<h1>{heading}/</h1><ul class="tessera-folder">{"".join(items)}</ul>'
            yield f"{FILES}{path}/index", {"title": title, "body": body}, "page.html"
        elif not is_shown(path):
            place = out / FILES / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, place)
        elif not document_of(env, path):
            try:
                lexer = get_lexer_for_filename(path)
            except ClassNotFound:
                lexer = TextLexer()
            text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
            body = f'<h1>{heading}</h1><div class="tessera-file">{highlight(text, lexer, formatter)}</div>'
            yield FILES + path, {"title": title, "body": body}, "page.html"


def setup(app):
    app.connect("builder-inited", lambda app: setattr(app.env, "tessera_files", set()))
    app.add_domain(Interface, override=True)
    for name, shown in (("tessera-option", "option"), ("tessera-word", "word of the glossary")):
        app.add_object_type(name, name, objname=shown)
        app.registry.domain_object_types["std"][name].attrs["searchprio"] = FOUND_FIRST
    app.add_transform(RepositoryLinks)
    app.connect("doctree-read", note_objects, priority=900)
    app.connect("doctree-resolved", link_literals)
    app.connect("autodoc-process-docstring", plain_to_rst, priority=100)
    app.connect("html-collect-pages", file_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
