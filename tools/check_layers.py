#!/usr/bin/env python3
"""Checks that includes point downward.

The order of the layers is the foreach in src/CMakeLists.txt, what each may include the LINKS of its dy_layer() call. A file of a
layer includes "<layer>/..." of its own layer or of one it links, "dyadic/...", or a header that CMake generates; the public headers
include only each other and cheap headers of the standard library. Prints one line per violation.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCES = {".h", ".cpp", ".cu", ".inc"}
EXPENSIVE = {"iostream", "regex", "filesystem", "ranges", "functional"}  # each costs every user's file 0.1 to 0.5 s


def cmake_text(path):
    return re.sub(r"#.*", "", path.read_text())


def layer_order(src):
    loop = re.search(r"foreach\(layer\s+([^)]*)\)", cmake_text(src / "CMakeLists.txt"))
    if not loop:
        sys.exit("check_layers: src/CMakeLists.txt has no foreach(layer ...)")
    return loop.group(1).split()


def layer_links(src, layer):
    """The LINKS of a layer's dy_layer() call, None when the folder has no such call."""
    path = src / layer / "CMakeLists.txt"
    call = path.exists() and re.search(r"dy_layer\(\s*" + layer + r"\b([^)]*)\)", cmake_text(path))
    if not call:
        return None
    links, taking = [], False
    for word in call.group(1).split():
        if word in ("LINKS", "EXTERNAL", "ISA", "ISA_BATCHED", "REFERENCE"):
            taking = word == "LINKS"
        elif taking:
            links.append(word)
    return links


def includes(path):
    text = path.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def files_below(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SOURCES and p.is_file())


def check_links(order, links):
    for layer, names in links.items():
        for name in names or []:
            if name not in order:
                yield f"src/{layer}/CMakeLists.txt: LINKS {name}, which is no layer"
            elif order.index(name) >= order.index(layer):
                yield f"src/{layer}/CMakeLists.txt: {layer} LINKS {name}, which is not below it"


def check_layer(root, layer, order, links):
    allowed = {layer, *(links[layer] or [])}
    for path in files_below(root / "src" / layer):
        for line, bracket, name in includes(path):
            if bracket == "<":
                continue
            where = f"{path.relative_to(root)}:{line}"
            top = name.split("/")[0]
            if top == "dyadic" or ("/" not in name and not (path.parent / name).exists()):
                continue  # public, or written by CMake into build/*/generated
            if top not in order:
                yield f'{where}: "{name}" does not begin with a layer\'s folder or dyadic/'
            elif top not in allowed:
                rule = "is above it" if order.index(top) > order.index(layer) else f"is not among the LINKS of src/{layer}"
                yield f'{where}: {layer} includes "{name}", and {top} {rule}'


def check_public(root):
    for path in files_below(root / "include"):
        for line, bracket, name in includes(path):
            where = f"{path.relative_to(root)}:{line}"
            if bracket == '"' and not name.startswith("dyadic/"):
                yield f'{where}: a public header includes "{name}", which is not installed'
            elif bracket == "<" and name in EXPENSIVE and path.parent != root / "include/dyadic/torch":  # programs count on them
                yield f"{where}: a public header includes <{name}>, which is slow to compile"
            elif bracket == "<" and not re.fullmatch(r"[a-z_0-9]+", name):
                yield f"{where}: a public header includes <{name}>, which is not the standard library's"


def violations(root):
    src = root / "src"
    order = layer_order(src)
    links = {layer: layer_links(src, layer) for layer in order if (src / layer).is_dir()}
    yield from check_links(order, links)
    for folder in sorted(p for p in src.iterdir() if p.is_dir() and files_below(p)):
        if folder.name not in order:
            yield f"src/{folder.name}: a folder with sources that src/CMakeLists.txt does not list as a layer"
        elif links[folder.name] is None:
            yield f"src/{folder.name}: a folder with sources but without dy_layer({folder.name} ...) in its CMakeLists.txt"
        else:
            yield from check_layer(root, folder.name, order, links)
    yield from check_public(root)


def main():
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations" if found else f"layers: in order ({' < '.join(layer_order(root / 'src'))})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
