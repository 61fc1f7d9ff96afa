#!/usr/bin/env python3
"""The C++ methods of Tensor, from the free functions of the public headers: usage: make_methods.py ROOT OUT_FOLDER

`inline Tensor narrow(const Tensor& self, int64_t dim, ...)` gives x.narrow(dim, ...); where the op's record also writes in
place, x.relu_(); and where one call of the op gives one tensor, narrow_out(out, x, ...). What tensor.h declares by hand stays.
Writes OUT_FOLDER/tensor_methods.inc, read inside of class Tensor, and for each header what it defines of them: HEADER_methods.inc.
"""
import re
import sys
from pathlib import Path

HEADERS = ("ops", "ops_more")
FUNCTION = re.compile(r"^inline (?P<type>[\w:<>]+) (?P<name>\w+)\(const Tensor& self(?:, )?(?P<rest>.*?)\) \{ (?P<body>.*) \}", re.M)
CALL = re.compile(r"return call\(Op::(\w+)_, self(.*)\);")
MACRO = re.compile(r"\bDY_(UNARY|BINARY)\((\w+)\)")
NOT_OPS = {"name"}  # the macros' own parameter


def split(parameters):
    """Commas between parameters; those inside of < > and ( ) belong to types and defaults."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(parameters):
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            parts.append(parameters[begin:i].strip())
            begin = i + 1
    return [p for p in [*parts, parameters[begin:].strip()] if p]


def bare(parameter):
    return parameter.split(" = ")[0]


def name_of(parameter):
    return bare(parameter).split()[-1].lstrip("&*")


class Function:
    """A free function: what it returns, its name, its parameters after self; the op, if all it does is to call one."""

    def __init__(self, type, name, parameters, op=None, arguments=""):
        self.type, self.name, self.parameters, self.op, self.arguments = type, name, parameters, op, arguments

    def declared(self, suffix=""):
        of = "Tensor&" if suffix else self.type
        return f"  {of} {self.name}{suffix}({', '.join(self.parameters)}) const;\n"

    def defined(self):
        given = "".join(f", {name_of(p)}" for p in self.parameters)
        return (f"inline {self.type} Tensor::{self.name}({', '.join(map(bare, self.parameters))}) const "
                f"{{ return dyadic::{self.name}(*this{given}); }}\n")

    def defined_inplace(self):
        return (f"inline Tensor& Tensor::{self.name}_({', '.join(map(bare, self.parameters))}) const "
                f"{{ return call_inplace(Op::{self.op}_, *this{self.arguments}); }}\n")

    def defined_out(self):
        parameters = ["const Tensor& out", "const Tensor& self", *self.parameters]
        return (f"inline const Tensor& {self.name}_out({', '.join(parameters)}) "
                f"{{ return call_out(Op::{self.op}_, out, self{self.arguments}); }}\n")


def functions(text):
    for m in MACRO.finditer(text):
        kind, name = m.groups()
        if name in NOT_OPS:
            continue
        if kind == "UNARY":
            yield Function("Tensor", name, [], name)
        else:
            yield Function("Tensor", name, ["const Tensor& other"], name, ", other")
            yield Function("Tensor", name, ["Scalar other"], name, ", scalar_tensor(other)")
    for m in FUNCTION.finditer(text):
        call = CALL.fullmatch(m["body"])
        yield Function(m["type"], m["name"], split(m["rest"]), *(call.groups() if call else (None, "")))


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    by_hand = set(re.findall(r"\b(\w+)\([^()]*\) const[;\s]", (root / "include/dyadic/tensor.h").read_text()))
    records = {f.stem: f.read_text() for f in (root / "src/ops").glob("*/*.cpp")}
    inplace = {op for op, text in records.items() if ".inplace = true" in text}
    views = {op for op, text in records.items() if "OpKind::view" in text}
    declared, written = "// Generated from the free functions; read inside of class Tensor.\n", {}
    for header in HEADERS:
        defined = f"// Generated from the free functions of {header}.h.\nnamespace dyadic::inline v1 {{\n"
        for f in functions((root / f"include/dyadic/{header}.h").read_text()):
            if f.name not in by_hand:
                declared += f.declared()
                defined += f.defined()
            if f.op in inplace and f.name + "_" not in by_hand:
                declared += f.declared("_")
                defined += f.defined_inplace()
            if f.op and f.op not in views:
                defined += f.defined_out()
        written[f"{header}_methods.inc"] = defined + "}\n"
    written["tensor_methods.inc"] = declared
    for name, text in written.items():
        if not (out / name).exists() or (out / name).read_text() != text:
            (out / name).write_text(text)


if __name__ == "__main__":
    main()
