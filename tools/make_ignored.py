#!/usr/bin/env python3
"""usage: make_ignored.py SOURCE_FOLDER HEADER

Writes what differs from PyTorch, as the sources declare it, into a header for the reference. Names that are not here, by place:
  python/dyadic/_absent_names.py
what has another meaning, by function:
  python/dyadic/_other_meanings.py
and arguments that are accepted and change nothing:
  python/dyadic: @ignored("name", why=...) above a function, or @_ignored, Switches(why, name=...) (python/dyadic/_ignored.py)
  python/binding: {"function", "name", "why"}, {..., true} where the first use says so, in ignored.h and in files that include it
  include: a parameter that is a comment, /*name: why*/, and options with "// changes nothing: why"
"""
import ast
import json
import re
import runpy
import sys
from pathlib import Path


def constants(tree):
    assigned = [n for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)]
    return {t.id: n.value.value for n in assigned for t in n.targets if isinstance(t, ast.Name)}


def text(node, known):
    return known[node.id] if isinstance(node, ast.Name) else node.value


def names_of(call):
    for arg in call.args:
        yield from (e.value for e in arg.value.elts) if isinstance(arg, ast.Starred) else [arg.value]


def exported(init):
    """What a package's __init__ takes out of its modules: module -> names, "*" among them."""
    found = {}
    for node in ast.walk(ast.parse(init.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            found.setdefault(node.module, set()).update(a.asname or a.name for a in node.names)
    return found


def public(root, module, name):
    """Where callers find it: without modules that are private, and those whose package has it too."""
    parts, first = list(module), name.partition(".")[0]
    while parts:
        init = root.joinpath(*parts[:-1], "__init__.py")
        hidden = parts[-1].startswith("_") and not root.joinpath(*parts).is_dir()
        if not hidden and not {"*", first} & exported(init).get(parts[-1], set()):
            break
        parts.pop()
    return ".".join([*parts, name] if name else parts)


def python_rows(root):
    for file in sorted(root.rglob("*.py")):
        tree = ast.parse(file.read_text())
        known = constants(tree)
        module = [p for p in file.relative_to(root).with_suffix("").parts if p != "__init__"]

        def visit(node, inside):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                    path = [*inside, child.name]
                    for d in child.decorator_list:
                        if isinstance(d, ast.Call) and getattr(d.func, "id", "") in ("_ignored", "ignored"):
                            options = {k.arg: k.value for k in d.keywords}
                            where = options.get("of")
                            name = ".".join(p for p in path if p != "__init__")
                            yield where.value if where else public(root, module, name), list(names_of(d)), text(options["why"], known), "warn" in options
                    yield from visit(child, path)
                elif isinstance(child, ast.Call) and getattr(child.func, "id", "") in ("Switches", "_Switches"):
                    target = node.targets[0].id if isinstance(node, ast.Assign) else ""
                    yield ".".join(filter(None, [*module, target])), [k.arg for k in child.keywords], text(child.args[0], known), False
                else:
                    yield from visit(child, inside)

        yield from visit(tree, [])


def binding_rows(folder):
    for file in sorted(folder.glob("*.*")):
        source = file.read_text()
        if file.name == "ignored.h" or '#include "ignored.h"' in source:
            for declared in re.findall(r"(?:ignored\(|constexpr Ignored )[^;()]*", source):
                for where, name, why, warns in re.findall(r'\{"([^"]+)",\s*"([^"]+)",\s*"([^"]+)"(,\s*true)?\}', declared):
                    yield where, [name], why, bool(warns)


def header_rows(folder):
    for file in sorted(folder.rglob("*.h")):
        source = file.read_text()
        space = "torch::" if file.parent.name == "torch" else "dyadic::"
        for found in re.finditer(r"/\*(\w+): ([^*\n]+)\*/", source):
            at, depth = found.start(), 0
            while depth < 1:  # back to the parenthesis that is open here
                at -= 1
                depth += (source[at] == "(") - (source[at] == ")")
            function = re.search(r"[\w:]+$", source[:at]).group()
            owner = [m[1] for m in re.finditer(r"^(?:class|struct|namespace) ([\w:]+)[^;\n]*?\{|^\}", source[:at], re.M)]
            if owner and owner[-1] and owner[-1] not in ("torch", "dyadic::inline"):
                function = f"{owner[-1]}::{function}"
            yield space + function, [found[1]], found[2], False
        for name, why in re.findall(r"TORCH_ARG\(.*, (\w+)\).*// changes nothing: (.*)", source):
            yield space + "data::DataLoaderOptions", [name], why, False


def merged(rows):
    """Rows of one function and reason as one."""
    found = {}
    for where, names, why, warns in rows:
        entry = found.setdefault((where, why, warns), [])
        entry += [n for n in names if n not in entry]
    return [(where, names, why, warns) for (where, why, warns), names in found.items()]


def absent_rows(file):
    """(place, names, why) of each entry of the list; names of modules of which nothing is here are their own."""
    for place, (why, names) in runpy.run_path(str(file))["ABSENT"].items():
        yield place, " ".join(sorted(names.split(), key=lambda n: n.lower())), why


def main():
    source, header = Path(sys.argv[1]), Path(sys.argv[2])
    rows = [("Python", *row) for row in merged([*python_rows(source / "python/dyadic"), *binding_rows(source / "python/binding")])]
    rows += [("C++", *row) for row in merged(header_rows(source / "include"))]
    quote = lambda s: json.dumps(s, ensure_ascii=True)  # noqa: E731  C++ reads the same escapes
    lines = [
        f"    {{{quote(language)}, {quote(where)}, {quote(', '.join(names))}, {quote(why)}, {str(warns).lower()}}},"
        for language, where, names, why, warns in sorted(rows, key=lambda r: (r[0] != "Python", r[1].lower(), r[2]))
    ]
    absent = [f"    {{{quote(place)}, {quote(names)}, {quote(why)}}}," for place, names, why in sorted(absent_rows(source / "python/dyadic/_absent_names.py"))]
    found = runpy.run_path(str(source / "python/dyadic/_other_meanings.py"))["MEANINGS"]
    meanings = [f"    {{{quote(functions)}, {quote(meaning)}}}," for functions, meaning in found.items()]
    made = "\n".join([
        "// From the declarations in the sources (tools/make_ignored.py).", "#pragma once",
        "constexpr IgnoredArgument kIgnoredArguments[] = {", *lines, "};",
        "constexpr AbsentNames kAbsentNames[] = {", *absent, "};",
        "constexpr OtherMeaning kOtherMeanings[] = {", *meanings, "};", "",
    ])  # fmt: skip
    if not header.exists() or header.read_text() != made:
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(made)


main()
