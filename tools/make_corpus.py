#!/usr/bin/env python3
"""Makes src/study/corpus.txt, the text that `dyadic study` trains on when it is given none.

The snapshot holds this project's own sources and documents in the order of their paths, each behind a line that names it. It is
made once and then frozen: the figures of a study mean the same as long as its corpus does. The build never runs this.
"""

import argparse
import hashlib
import pathlib
import sys

FOLDERS = ["", "bench", "cmake", "docs", "examples", "include", "python", "src", "tests", "tools"]
SUFFIXES = {".h", ".cpp", ".py", ".md", ".cmake", ".cu"}
NAMES = {"CMakeLists.txt", "dev"}


def sources(root):
    """Paths relative to root, sorted; files of the root itself, then everything below the folders."""
    found = set()
    for folder in FOLDERS:
        base = root / folder
        if base.is_dir():
            found.update(base.rglob("*") if folder else base.glob("*"))
    paths = [p for p in found if p.is_file() and not p.is_symlink() and (p.suffix in SUFFIXES or p.name in NAMES)]
    return sorted((p.relative_to(root).as_posix() for p in paths))


def snapshot(root, limit):
    """The text, and the paths that did not fit: of the tests, the last ones are left out first."""
    parts = {}
    for path in sources(root):
        text = (root / path).read_text(encoding="utf-8")
        if "\0" in text:
            sys.exit(f"make_corpus: {path} holds a NUL byte")
        parts[path] = f"==== {path}\n{text.rstrip()}\n\n"
    total = sum(len(part.encode()) for part in parts.values())
    left_out = []
    for path in sorted((p for p in parts if p.startswith("tests/")), reverse=True):
        if total <= limit:
            break
        total -= len(parts.pop(path).encode())
        left_out.append(path)
    if total > limit:
        sys.exit(f"make_corpus: {total} bytes without any test, {limit} wanted; raise --limit")
    return "".join(parts.values()), left_out


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=1_000_000, help="bytes; the last tests are left out to stay below")
    parser.add_argument("--out", type=pathlib.Path, default=root / "src/study/corpus.txt")
    arguments = parser.parse_args()
    text, left_out = snapshot(root, arguments.limit)
    data = text.encode()
    arguments.out.write_bytes(data)
    print(f"{arguments.out}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}, {len(left_out)} tests left out")


if __name__ == "__main__":
    main()
