"""build_site.py PROGRAM OUT: the pages of the site in OUT/pages, then the site in OUT/site (mkdocs.yml).

Pages are docs/**; links that leave that folder, to sources, become what they say, because the site holds none. The reference is what the
program writes of its records.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pygments.formatters import HtmlFormatter

HERE = Path(__file__).resolve().parent
DOCUMENTS = HERE.parents[1] / "docs"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def within(page, target):
    """Whether a link of a page leads to another page or file of the site."""
    if target.startswith(("http", "#")):
        return True
    place = (page.parent / target.partition("#")[0]).resolve()
    return place.is_relative_to(DOCUMENTS)


def without_outer_links(page):
    return LINK.sub(lambda m: m[0] if within(page, m[2]) else f"`{m[1].strip('`')}`", page.read_text())


def main(program, out):
    pages = Path(out, "pages")
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCUMENTS, pages)
    for page in DOCUMENTS.rglob("*.md"):
        (pages / page.relative_to(DOCUMENTS)).write_text(without_outer_links(page))
    colours = HtmlFormatter(style="friendly").get_style_defs(".codehilite")
    (pages / "site.css").write_text((HERE / "site.css").read_text() + colours + "\n")
    subprocess.run([program, "ops", "--html", pages / "reference.html"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", HERE / "mkdocs.yml"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
