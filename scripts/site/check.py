#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py FOLDER: opens each page of the site in headless Chromium, as wide as a phone and as a screen.

A finding is a line PAGE: what is wrong; the exit status is 1 while there is one, and 77 without Chromium. Looked for:
links and anchors that lead nowhere, requests that leave the folder or fail, pictures that do not show, pages wider than
a phone, a dark theme that is light. Each public function of C, each name of the Python package and each option must be
among the first results of the search.
"""
import argparse
import functools
import http.server
import os
import pathlib
import re
import shutil
import sys
import threading
import urllib.parse

import playwright.sync_api

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from stage import python_parts  # noqa: E402 (its folder is added above)

PHONE, SCREEN = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
FIRST = 10  # results: a name must be among so many
FEWEST = {"functions of C": 350, "names of Python": 50, "options": 60}  # fewer were found where the lists went wrong
LOOK = """() => ({
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    names: [...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name),
    blank: [...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src),
})"""
# The theme's `content` would scroll in place of the page.
WIDTH = """() => Math.max(...[document.documentElement, document.body, ...document.querySelectorAll('.content')].map(
    e => e.scrollWidth - e.clientWidth))"""
SEARCH = """query => {
    const [, terms, excluded, highlighted, objects] = Search._parseQuery(query);
    const results = Search._performSearch(query, terms, excluded, highlighted, objects); // the best is the last
    return results.map(r => [r[0], r[1], r[2] || '']).reverse();
}"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


class Site:
    """What was seen of it."""

    def __init__(self, folder, base):
        self.folder, self.base, self.findings = folder, base, []
        self.page, self.names, self.links = "", {}, {}

    def find(self, text):
        self.findings.append(f"{self.page}: {text}")

    def watch(self, page):
        """Requests beyond the site are findings, and do not leave."""
        def route(route):
            if route.request.url.startswith((self.base, "data:")):
                route.continue_()
            else:
                self.find(f"asks for {route.request.url}")
                route.abort()
        page.route("**/*", route)
        page.on("response", lambda answer: answer.status < 400 or self.find(f"{answer.url} gives {answer.status}"))
        page.on("pageerror", lambda error: self.fails(str(error)))

    def fails(self, error):
        """Without a server the search shows no text of its results, which a script may not read then."""
        if not (self.base.startswith("file:") and "Failed to fetch" in error):
            self.find(f"a script fails: {error}")

    def look(self, page, name):
        self.page = name
        page.set_viewport_size(PHONE)
        page.goto(self.base + urllib.parse.quote(name), wait_until="load")
        for size in (PHONE, SCREEN):
            page.set_viewport_size(size)
            beyond = page.evaluate(WIDTH)
            if beyond > 0:
                self.find(f"is {beyond} pixels too wide for a window of {size['width']}")
        seen = page.evaluate(LOOK)
        self.names[name], self.links[name] = set(seen["names"]), seen["links"]
        for picture in seen["blank"]:
            self.find(f"does not show {picture}")

    def follow(self):
        for self.page, links in self.links.items():
            for link in sorted(set(links)):
                address, _, anchor = link.partition("#")
                if not address.startswith(self.base):
                    if not re.match(r"(https?|mailto):", address):
                        self.find(f"{link} is no address")
                    continue
                name = urllib.parse.unquote(urllib.parse.urlsplit(address).path).lstrip("/") or "index.html"
                anchor = urllib.parse.unquote(anchor)
                if not (self.folder / name).is_file():
                    self.find(f"{link}: there is no {name}")
                elif anchor and anchor not in self.names.get(name, ()):
                    self.find(f"{link}: {name} has no {anchor}")

    def search(self, page, kind, wanted):
        """`wanted`: {query: start of the name of the document that has it}"""
        self.page = "search.html"
        if len(wanted) < FEWEST[kind]:
            self.find(f"{len(wanted)} {kind} are known: too few")
        for query, place in sorted(wanted.items()):
            results = page.evaluate(SEARCH, query)[:FIRST]
            word = query.lstrip("-")
            if not any(document.startswith(place) and anchor and word in title for document, title, anchor in results):
                self.find(f"{query}: not among the first {FIRST} of {len(results)} results, {results[:3]}")
        print(f"search: {len(wanted)} {kind}")


def public_functions():
    names = set()
    for header in (ROOT / "include/tessera").glob("*.h"):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
        names |= set(re.findall(r"^(?:TESS_EXPORT|TESS_HD|TESS_INLINE|static inline)\b[^;{(]*?\b(tess_\w+)\(", text,
                                re.M))
    return {name: "api/c/" for name in names}


def python_names():
    return {name: "api/python/" for names in python_parts().values() for name in names}


def options():
    text = (ROOT / "docs/reference/options.md").read_text()
    return {name: "docs/reference/options" for name in re.findall(r"^\| `(--[\w-]+)` \|", text, re.M)}


def ask_form(site, page):
    """A search as a reader makes it: a word in the field, Enter, a click on the first result."""
    for size in (PHONE, SCREEN):
        site.page = "index.html"
        page.set_viewport_size(size)
        page.goto(site.base + "index.html")
        if size is PHONE:
            page.click("label[for='__navigation']:visible")
        page.fill("input[name='q']:visible", "tess_solver_solve")
        page.press("input[name='q']:visible", "Enter")
        first = page.wait_for_selector("#search-results li a")
        if first.inner_text() != "tess_solver_solve":
            site.find(f"the first result of tess_solver_solve is {first.inner_text()}")
        first.click()
        page.wait_for_url("**/api/c/solver.html*")


def check(folder):
    with playwright.sync_api.sync_playwright() as driver:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else [])
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(60_000)
        site = Site(folder, serve(folder))
        site.watch(page)
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
        for name in names:
            site.look(page, name)
        site.follow()
        print(f"pages: {len(names)}, links: {sum(map(len, site.links.values()))}")
        page.goto(site.base + "search.html?q=tessera", wait_until="load")
        page.wait_for_selector("#search-results li a")
        site.search(page, "functions of C", public_functions())
        site.search(page, "names of Python", python_names())
        site.search(page, "options", options())
        ask_form(site, page)
        page.emulate_media(color_scheme="dark")
        page.goto(site.base + "index.html")
        if max(page.evaluate(BACKGROUND)) > 80:
            site.find("is light in the dark theme")
        site.base = folder.as_uri() + "/"  # as the Debian package is read: without a server
        page.goto(site.base + "search.html?q=tess_solver_solve")
        if page.wait_for_selector("#search-results li a").inner_text() != "tess_solver_solve":
            site.find("the search without a server does not begin with tess_solver_solve")
        browser.close()
    return site.findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder.resolve()
    if not (folder / "index.html").exists():
        parser.error(f"there is no site in {folder}: make site")
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        print("there is no Chromium: bash scripts/setup.sh site-check installs it")
        return 77
    findings = check(folder)
    print("\n".join([*findings, f"{len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
