"""A .pyi for every Python module of the package, from the imported modules: much of what they hold is made from records when they are
imported, where type checkers and editors do not look. Signatures and annotations are those that inspect sees; what has none is Any.
"""
import ast
import enum
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
import types
from pathlib import Path

HEAD = {  # names that annotations may use; those that a module has itself are left to it
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "os": "PathLike",
    "typing": "IO Any",
    "dyadic._dyadic": "DeviceLike DTypeLike Generator Number Tensor device dtype",
}
UNCHECKED = '# mypy: disable-error-code="override,misc,type-arg,no-untyped-def"\n'  # as PyTorch's names have it
FUNCTIONS = (type, types.FunctionType, types.BuiltinFunctionType)
LITERALS = (bool, int, str, type(None))


def import_all(package):
    """The package's modules by name: those with files, and those that it makes."""
    names = [package.__name__] + [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    for name in names:
        importlib.import_module(name)
    for name in package.__all__:  # what is imported when it is asked for
        getattr(package, name)
    inside = package.__name__ + "."
    return {package.__name__: package} | {name: m for name, m in sorted(sys.modules.items()) if name.startswith(inside)}


def is_bound(value):
    """By nanobind."""
    return type(value).__name__ == "nb_func"


def text_of(annotation):
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def default_of(value):
    if isinstance(value, LITERALS) or isinstance(value, float) and value - value == 0:
        return repr(value)
    if type(value) is tuple and "..." not in (inner := [default_of(v) for v in value]):
        return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    return "..."


def signature_of(f):
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


def parameters(signature, first="", known={}):
    """As text, and the result's type. `first` stands for the first parameter of a method; known: types by name, where there is no
    annotation."""
    if signature is None:
        return ", ".join(filter(None, [first, "*args: Any", "**kwargs: Any"])), "Any"
    out, star, before = [], False, None
    for i, p in enumerate(signature.parameters.values()):
        if p.name.startswith("_") and p.default is not p.empty:  # not for callers
            continue
        if before is p.POSITIONAL_ONLY and p.kind is not before:
            out.append("/")
        before = p.kind
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
            star = True
        star |= p.kind is p.VAR_POSITIONAL
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if i == 0 and first and not stars:
            out.append(first)
            continue
        kind = known.get(p.name, "Any") if p.annotation is p.empty else text_of(p.annotation)
        out.append(f"{stars}{p.name}: {kind}" + ("" if p.default is p.empty else " = " + default_of(p.default)))
    if before is inspect.Parameter.POSITIONAL_ONLY:
        out.append("/")
    result = signature.return_annotation
    return ", ".join(out), "Any" if result is signature.empty else text_of(result)


class Stub:
    """One module's."""

    def __init__(self, module, core, qualify, ops):
        self.module, self.core, self.qualify, self.ops = module, core, qualify, ops
        self.imports, self.lines = set(), []

    def home(self, name, value):
        """(module, name) where a value is defined; None: here."""
        if not isinstance(value, (bool, int, float, str, type(None))) and vars(self.core).get(name) is value:
            return (self.core.__name__, name) if self.module is not self.core else None
        own = getattr(value, "__name__", name)
        there = sys.modules.get(getattr(value, "__module__", None) or "")
        if there is None or there is self.module or not isinstance(value, FUNCTIONS) and not is_bound(value):
            return None
        if vars(self.core).get(own) is value:
            return self.core.__name__, own
        return (there.__name__, own) if vars(there).get(own) is value else None

    def bases(self, cls):
        """Base classes that have a name somewhere; and those that have none, whose members the class gets."""
        named, hidden = [], []
        for base in cls.__bases__:
            if base is object:
                continue
            if base.__module__ == "builtins" or self.home(base.__name__, base) or vars(self.module).get(base.__name__) is base:
                named.append(base)
            else:
                deeper = self.bases(base)
                named += deeper[0]
                hidden += [base, *deeper[1]]
        return named, hidden

    def dotted(self, cls):
        if cls.__module__ == "builtins":
            return "builtins." + cls.__name__ + ("[Any, ...]" if cls is tuple else "[Any, Any]" if cls is dict else "[Any]" if cls is list else "")
        place = self.home(cls.__name__, cls)
        if place is None:
            return cls.__name__
        self.imports.add(f"import {place[0]}\n")
        return ".".join(place)

    def function(self, name, f, indent="", decorator="", first=""):
        signature = signature_of(f)
        known, returns = self.ops.get(name, ({}, "Any")) if not first else ({}, "Any")
        own = "__signature__" in getattr(f, "__dict__", ())  # made of the op: it takes what the op takes
        text, result = parameters(signature, first, known if own else {})
        chosen = signature and any(p.startswith(("return_", "as_", "get_")) for p in signature.parameters)  # what comes back
        if result == "Any" and signature and not chosen:
            result = returns
        result = re.sub(r"\breturn_types\.", "dyadic._dyadic.return_types.", result)
        if "return_types" in result:
            self.imports.add("import dyadic._dyadic\n")
        head = self.qualify(f"{indent}def {name}({text}) -> {'None' if name == '__init__' else result}:")
        doc = inspect.getdoc(f) if isinstance(getattr(f, "__doc__", None), str) else None
        self.lines.append((indent + decorator + "\n" if decorator else "") + head + self.body(doc, indent + "    "))

    def body(self, doc, indent):
        if not doc:
            return " ...\n"
        doc = doc.replace("\\", "\\\\").replace('"""', '\\"""')
        return "\n" + textwrap.indent(f'"""{doc}"""', indent) + "\n"

    def member(self, name, value):
        indent = "    "
        if isinstance(value, staticmethod):
            self.function(name, value.__func__, indent, "@staticmethod")
        elif isinstance(value, classmethod):
            self.function(name, value.__func__, indent, "@classmethod", "cls")
        elif isinstance(value, types.FunctionType):
            self.function(name, value, indent, first="self")
        elif isinstance(value, (property, functools.cached_property)) or type(value).__name__ in ("_tuplegetter", "getset_descriptor"):
            get = getattr(value, "fget", None) or getattr(value, "func", None)
            result = parameters(signature_of(get))[1] if get else "Any"
            doc = inspect.cleandoc(value.__doc__) if value.__doc__ else ""
            self.lines.append(f"    @property\n    {self.qualify(f'def {name}(self) -> {result}:')}" + self.body(doc, indent * 2))
            if getattr(value, "fset", None):
                self.lines.append(f"    @{name}.setter\n    {self.qualify(f'def {name}(self, value: {result}) -> None: ...')}\n")
        elif not name.startswith("__"):
            self.lines.append(f"    {name}: Any\n")

    def attributes(self, cls):
        """Names that its methods assign to self."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError):
            return set()
        found = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name) and n.value.id == "self"}
        return {name for name in found if not name.startswith("_") and not hasattr(cls, name)}

    def define_class(self, name, cls):
        named, hidden = self.bases(cls)
        bases = [self.dotted(b) for b in dict.fromkeys(named)]
        meta = type(cls)
        if meta is not type and meta.__module__.startswith("dyadic") and not meta.__name__.startswith("nb_"):
            bases.append("metaclass=" + self.dotted(meta))
        doc = inspect.cleandoc(cls.__doc__) if isinstance(cls.__doc__, str) else ""
        self.lines.append(f"class {name}" + (f"({', '.join(bases)})" if bases else "") + ":" + (self.body(doc, "    ") if doc else "\n"))
        at = len(self.lines)
        made = cls.__signature__ if "__signature__" in vars(cls) else None
        if made is not None:
            text, _ = parameters(made)
            self.lines.append(self.qualify(f"    def __init__(self, {text}) -> None: ...") + "\n")
        members = {key: value for c in [*reversed(hidden), cls] for key, value in vars(c).items()}
        for key, value in members.items():
            generated = key in ("__init__", "__new__") and made is not None
            special = key.startswith("__") and isinstance(value, types.FunctionType) and not key.startswith("__class_getitem")
            if (not key.startswith("_") or special) and not generated and key.isidentifier():
                self.member(key, value)
        self.lines += [f"    {key}: Any\n" for key in sorted(self.attributes(cls))]
        if len(self.lines) == at and not doc:
            self.lines.append("    ...\n")

    def define(self, name, value):
        place = self.home(name, value)
        if isinstance(value, types.ModuleType):
            parent, _, own = value.__name__.rpartition(".")
            if parent.startswith("dyadic"):
                self.imports.add(f"from {parent} import {own} as {name}\n")
        elif place:
            if place[1] == name:
                self.imports.add(f"from {place[0]} import {name} as {name}\n")
            else:  # only `name as name` passes a name on
                self.imports.add(f"import {place[0]}\n")
                self.lines.append(f"{name} = {'.'.join(place)}\n")
        elif isinstance(value, type) and "__getitem__" in vars(type(value)) and not issubclass(value, enum.Enum):  # Float[Tensor, "batch width"] is a Tensor
            self.imports.add(f"from typing import Annotated as {name}\n")
        elif isinstance(value, type):
            self.define_class(name, value)
        elif callable(value) and signature_of(value) is not None or isinstance(value, types.BuiltinFunctionType):
            self.function(name, value)
        else:
            kind = type(value).__name__ if isinstance(value, (bool, int, float, str)) else "Any"
            self.lines.append(self.qualify(f"{name}: {kind}") + "\n")

    def text(self, names):
        for name in names:
            if name.isidentifier():
                self.define(name, getattr(self.module, name))
        own = {line.split(" as ")[-1].strip() for line in self.imports} | set(names)
        head = "".join(
            f"from {source} import {', '.join(n for n in all_names.split() if n not in own)}\n"
            for source, all_names in HEAD.items()
            if not own.issuperset(all_names.split())
        )
        doc = f'"""{inspect.cleandoc(self.module.__doc__)}"""\n' if self.module.__doc__ else ""
        return doc + UNCHECKED + "import builtins\nimport os\n" + head + "".join(sorted(self.imports)) + "\n" + "".join(self.lines)


def public_names(module, modules):
    """What the module offers; of a private one what other stubs may ask for. Submodules that are loaded when they are asked for are there."""
    names = [n for n in dict.fromkeys([*vars(module), *dir(module)]) if not n.startswith("__") or n in ("__version__", "__all__")]
    prefix = module.__name__ + "."
    names += [n.removeprefix(prefix) for n in modules if n.startswith(prefix) and n.count(".") == prefix.count(".")]
    own = lambda n: getattr(getattr(module, n, None), "__module__", None) == module.__name__ and isinstance(getattr(module, n), type)
    keep = [n for n in dict.fromkeys(names) if not n.startswith("_") or n == "__version__" or own(n)]
    return [n for n in keep if not isinstance(getattr(module, n), types.ModuleType) or getattr(module, n).__name__.startswith("dyadic.")]


def write(package, core, qualify, ops):
    modules = import_all(package)
    for name, module in modules.items():
        if name.startswith(core.__name__):
            continue
        path = Path(package.__file__).parent.joinpath(*name.split(".")[1:])
        path = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
        path.write_text(Stub(module, core, qualify, ops).text(public_names(module, modules)))
