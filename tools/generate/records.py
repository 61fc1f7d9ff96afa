"""What op files, layers, optimizers and schedules say of themselves: their records, read as text."""
import re
import sys

LITERAL = r'"(?:[^"\\\n]|\\.)*"|R"(\w*)\([\s\S]*?\)\2"'
LITERALS = re.compile(r'R"(?P<mark>\w*)\((?P<raw>[\s\S]*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"')
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
NAMESPACES = ("linalg", "fft")  # of ops that C++ and Python keep in a module: linalg_det is linalg::det


def joined(literals):
    """Adjacent string literals as the compiler joins them."""
    return "".join(m["raw"] if m["text"] is None else re.sub(r"\\(.)", lambda e: ESCAPES.get(e[1], e[0]), m["text"]) for m in LITERALS.finditer(literals))


def split(text):
    """At commas; those inside of brackets and braces belong to types and defaults."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<({[") - (c in ">)}]")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [p for p in [*parts, text[begin:].strip()] if p]


class Parameter:
    """`int[]? dim=None`: kind int[], optional, default None."""

    def __init__(self, text):
        declared, _, self.default = text.partition("=")
        self.kind, self.name = declared.rsplit(" ", 1)
        self.spread, self.name = self.name.startswith("*"), self.name.lstrip("*")
        self.optional = self.kind.endswith("?")
        self.kind = re.sub(r"\(.*?\)", "", self.kind.removesuffix("?"))


def parameters(text):
    return [Parameter(p) for p in split(text) if p != "*"]


class OpRecord:
    """One op file. `name` is what it is called, with those of its overloads; `space` the namespace that it is in."""

    def __init__(self, file, text):
        self.file, self.op, self.family = file, file.stem, file.parent.name
        self.signature = self.field(text, "sig")
        m = re.fullmatch(r"(\w+)(?:\.(\w+))?\((.*)\) -> (.*)", self.signature)
        if not m or "_".join(filter(None, m.groups()[:2])) != self.op:
            sys.exit(f"generate: {file}: the record's .sig is not that of {self.op}: {self.signature!r}")
        self.shared_name, self.overload, returns = m[1], m[2], m[4]
        self.space = next((s for s in NAMESPACES if self.shared_name.startswith(s + "_")), "")
        self.name = self.shared_name[len(self.space) + 1 :] if self.space else self.shared_name
        self.parameters = parameters(m[3])
        self.returns_list = returns == "Tensor[]"
        self.results = [r.partition(" ")[2] for r in split(returns.strip("()"))]  # their names
        self.aliases = self.field(text, "aliases").split()
        self.kind = "pointwise" if re.search(r"\bPointwiseOp\b", text) else (re.search(r"\.kind = OpKind::(\w+)", text) or ("", "kernel"))[1]
        self.has_kernel = bool(re.search(r"\bKernel cpu =", text))
        self.has_batching = bool(re.search(r"\bBatching batching =", text))
        self.inplace, self.internal = (bool(re.search(rf"\.{flag} = true\b", text)) for flag in ("inplace", "internal"))
        # Of a pointwise op: how many numbers its formula takes. Other parameters choose another op.
        formula = re.search(r"\b(?:pointwise|holomorphic)\w*<\s*\d+,\s*Types::\w+(?:,\s*(\d+))?\s*>", text)
        self.numbers = int(formula[1] or 0) if formula else 0

    @staticmethod
    def field(text, name):
        found = re.findall(rf"\.{name} =\s*((?:(?:{LITERAL})\s*)+)", text)
        return joined(found[0][0]) if found else ""


def op_records(root):
    """Of the files that define one; others are what several ops of a family share."""
    texts = ((f, re.sub(r"^\s*//.*$", "", f.read_text(), flags=re.M)) for f in sorted((root / "src/ops").glob("*/*.cpp")))
    return [OpRecord(f, text) for f, text in texts if re.search(r"\b(OpDef record|PointwiseOp \w+) =", text)]


MEMBER = re.compile(rf"\{{\s*((?:(?:{LITERAL})\s*)+),")  # the first member of an aggregate: its signature


def class_records(root, folder):
    """(name, parameters) of the layers, optimizers or schedules in a folder's sources."""
    found = []
    for file in sorted((root / folder).glob("*.cpp")):
        for literals in MEMBER.findall(file.read_text()):
            if m := re.fullmatch(r"([A-Z]\w*)\((.*)\)", joined(literals[0])):
                found.append((m[1], parameters(m[2])))
    if not found:
        sys.exit(f"generate: no records in {folder}")
    return found
