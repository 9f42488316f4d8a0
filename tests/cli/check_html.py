#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages that --html writes: check_html.py TOOL DATA [DEVICE].

Each page is well formed, names every picture and table, and refers to nothing elsewhere: no address, no script. Where
Chromium is installed it opens each page as wide as a phone and as a screen: nothing is fetched, nothing is cut off or
reaches beyond the page. One line per failing check, then "N passed, N failed".

With DEVICE (cuda) one page alone is made, of a matrix on that device: its precision map must be the one of the host.
"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, finish

VOID = {"meta", "img", "line", "path", "polyline", "br"}
WIDTHS = (390, 1280)


class Page(html.parser.HTMLParser):
    """Tags in pairs, what the page refers to, and its text."""

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.references, self.tags, self.text = [], [], [], [], []
        self.captioned = True

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.references += [v for k, v in attrs if k in ("src", "href", "srcset", "action", "data", "xlink:href")]
        if tag == "img" and not values.get("alt"):
            self.problems.append("a picture has no alt text")
        if tag == "table":
            self.captioned = False
        if tag == "caption":
            self.captioned = True
        if tag == "tr" and not self.captioned:
            self.problems.append("a table has no caption")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text.append(data)


def check_page(path, words):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        source = file.read()
    page = Page()
    page.feed(source)
    check(not page.problems, f"{name}: {page.problems[:3]}")
    check(not page.open, f"{name}: not closed: {page.open}")
    check(all(r.startswith("data:image/png;base64,") for r in page.references), f"{name} refers to {page.references}")
    bare = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]*", "", source)
    found = re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<iframe|javascript:", bare)
    check(not found, f"{name} has an address or a program: {found}")
    check("default-src 'none'" in source and "prefers-color-scheme:dark" in source and 'name="viewport"' in source,
          f"{name} lacks a policy, a dark theme or a viewport")
    check('<html lang="en">' in source and page.tags.count("h1") == 1, f"{name} has no language or not one h1")
    titled = re.findall(r'<svg[^>]* role="img">\s*<title>', source)
    check(source.count("<svg") == len(titled), f"{name}: svg without title")
    text = re.sub(r"\s+", " ", "".join(page.text))
    for word in words:
        check(word in text, f"{name} lacks '{word}'")
    return source


# Asked inside of the browser, of the page in a frame.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><iframe id="f" src="PAGE" style="border:0;width:WIDTHpx;height:900px">
</iframe><pre id="answer">none</pre><script>
document.getElementById('f').onload = function () {
  const d = this.contentDocument, w = this.contentWindow, beyond = [];
  for (const e of d.querySelectorAll('body *')) {
    const r = e.getBoundingClientRect(), hidden = r.right < 0;
    if (!hidden && r.width > 0 && (r.right > WIDTH + 1 || r.left < -1)) { beyond.push(e.tagName + ' ' + r.right); }
    const cut = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden';
    if (!hidden && cut) { beyond.push(e.tagName); }
  }
  document.getElementById('answer').textContent = JSON.stringify({
    width: d.documentElement.scrollWidth, beyond: beyond.slice(0, 5), nodes: d.querySelectorAll('body *').length,
    fetched: w.performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:')),
    pictures: [...d.images].every(i => i.complete && i.naturalWidth > 0),
    background: getComputedStyle(d.body).backgroundColor});
};
</script>"""


def find_browser():
    return next((shutil.which(n) for n in ("chromium", "chromium-browser", "google-chrome") if shutil.which(n)), None)


def open_page(browser, path, width, dark):
    probe = path + f".{width}.probe.html"
    with open(probe, "w", encoding="utf-8") as file:
        file.write(PROBE.replace("PAGE", os.path.basename(path)).replace("WIDTH", str(width)))
    result = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                             "--allow-file-access-from-files",
                             f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                             f"--user-data-dir={path}.profile", "--virtual-time-budget=5000",
                             "--window-size=1400,1000", "--dump-dom", "file://" + probe],
                            capture_output=True, text=True, timeout=120)
    answer = re.search(r'<pre id="answer">(.*?)</pre>', result.stdout, re.S)
    return json.loads(answer[1].replace("&gt;", ">").replace("&amp;", "&")) if answer and answer[1] != "none" else None


def check_in_browser(browser, path):
    colours = set()
    for width, dark in zip(WIDTHS, (False, True)):
        name = f"{os.path.basename(path)} at {width} px"
        answer = open_page(browser, path, width, dark)
        check(answer is not None, f"{name}: the browser gave no answer")
        if answer is None:
            continue
        check(answer["nodes"] > 50 and answer["pictures"], f"{name}: {answer}")
        check(answer["width"] <= width and not answer["beyond"], f"{name}: wider than the page: {answer}")
        check(answer["fetched"] == [], f"{name} fetched {answer['fetched']}")
        colours.add(answer["background"])
    check(len(colours) == 2, f"{os.path.basename(path)}: light and dark have the same ground: {colours}")


def write_array(path, rows, columns):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix array real general\n{rows} {columns}\n")
        file.writelines(f"{i % 7 + 1}\n" for i in range(rows * columns))


def make_pages(tool, data, folder):
    """Names of pages, with words that each must have."""
    nos3, sherman = os.path.join(data, "nos3.mtx.gz"), os.path.join(data, "sherman4.mtx.gz")
    hostile = os.path.join(folder, "a<script>&\"'.mtx.gz")
    shutil.copy(nos3, hostile)
    write_array(os.path.join(folder, "b.mtx"), 960, 3)
    pages = [
        ("auto", 0, ["solve", sherman, "--rtol", "1e-9"],
         ["Converged and verified", "Why this method", "true residual", "Repeat it", "--rtol 1e-9", "host threads"]),
        ("mixed", 0, ["solve", nos3, "--solver", "cg", "--format", "tiles", "--policy", "mean-3std", "--timings"],
         ["Precision map", "fp64 red, fp32 blue", "Parts of the solve", "spmv", "nos3.mtx.gz"]),
        ("failed", 1, ["solve", sherman, "--solver", "gmres", "--max-iterations", "3"],
         ["Not converged", "not verified"]),
        ("columns", 0, ["solve", hostile, "--solver", "cg", "--rhs", "b.mtx"],
         ["Right-hand sides", "a<script>&\"'.mtx.gz", "The rest of this page is about column"]),
        ("compare", 0, ["compare", nos3, "--device", "cpu", "--budget", "3", "--solvers", "auto,cg,bicgstab,gmres",
                        "--preconds", "none,ic0,ilut:1e-3:5", "--repeat", "2", "--format", "csr"],
         ["A verified answer was found", "Products y = A x", "This repeats the fastest solve", "auto: ", "tolerance"]),
    ]
    for name, code, arguments, words in pages:
        path = os.path.join(folder, name + ".html")
        result = subprocess.run([tool, *arguments, "--html", path], capture_output=True, text=True, cwd=folder)
        check(result.returncode == code, f"{name}: exit {result.returncode}: {result.stderr}")
        check(os.path.exists(path), f"{name}: no page")
        if os.path.exists(path):
            yield path, words


# ---- a device ----


def write_graded(path, n):
    """A tridiagonal matrix with entries of two sizes."""
    entries = [(i + 1, i + 1, 4.0 + i % 5) for i in range(n)]
    entries += [(i + 1, i, -1.0 if i % 4 else -0.001) for i in range(1, n)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(entries)}\n")
        file.writelines(f"{i} {j} {value!r}\n" for i, j, value in entries)


def pictures_of(source):
    return re.findall(r"data:image/png;base64,[A-Za-z0-9+/=]*", source)


def make_device_pages(tool, device, folder):
    """The page of each part of a storage on the host and on the device; the pictures must be the same."""
    matrix = os.path.join(folder, "graded.mtx")
    write_graded(matrix, 60)
    for granularity in ("entry", "block"):
        sources = []
        for place in ("cpu", device):
            path = os.path.join(folder, f"{granularity}-{place}.html")
            result = subprocess.run([tool, "solve", matrix, "--solver", "cg", "--format", "split", "--granularity",
                                     granularity, "--policy", "mean-range", "--device", place, "--html", path],
                                    capture_output=True, text=True, cwd=folder)
            check(result.returncode == 0, f"{granularity} on {place}: exit {result.returncode}: {result.stderr}")
            if os.path.exists(path):
                sources.append(check_page(path, ["Precision map", "fp64 red, fp32 blue", "Nonzeros by precision"]))
        check(len(sources) == 2 and pictures_of(sources[0]), f"{granularity}: no map")
        check(len(sources) == 2 and pictures_of(sources[0]) == pictures_of(sources[1]), f"{granularity}: another map")


def main():
    tool, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        if len(sys.argv) > 3:
            make_device_pages(tool, sys.argv[3], folder)
            return finish()
        for path, words in make_pages(tool, data, folder):
            check_page(path, words)
            if browser:
                check_in_browser(browser, path)
    return finish("" if browser else "; no Chromium: pages were not opened")


sys.exit(main())
