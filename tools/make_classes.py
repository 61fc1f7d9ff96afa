#!/usr/bin/env python3
"""The C++ classes of layers, optimizers and schedules, from their records: usage: make_classes.py ROOT OUT_FOLDER

"Conv2d(int in_channels, ..., int[] stride=1)" gives nn::Conv2d, whose constructor has these parameters; "SGD(float lr=1e-3, ...)"
gives optim::SGD(params, {.lr = 0.1}); "StepLR(int step_size, ...)" optim::StepLR(optimizer, {.step_size = 30}). Classes that the
headers define by hand stay. Writes OUT_FOLDER/layer_classes.inc, optimizer_classes.inc and scheduler_classes.inc.
"""
import re
import sys
from pathlib import Path

RECORD = re.compile(r'\{\s*((?:"(?:[^"\\]|\\.)*"\s*)+),')  # the first member of an aggregate: its signature
SIGNATURE = re.compile(r"([A-Z]\w*)\((.*)\)")
TYPES = {"int": "int64_t", "float": "double", "bool": "bool", "dtype": "DType", "int[]": "IntList", "float[]": "std::vector<double>"}


class Parameter:
    def __init__(self, text):
        declared, _, self.default = text.partition("=")
        self.kind, self.name = declared.split()
        self.optional = self.kind.endswith("?")
        self.kind = self.kind.removesuffix("?")

    def type(self, text):
        """In C++; text: what a str is. An absent int[] is empty, an absent Tensor undefined."""
        plain = {**TYPES, "str": text, "Tensor": "const Tensor&"}[self.kind]
        return f"std::optional<{plain}>" if self.optional and self.kind not in ("int[]", "Tensor") else plain

    def value(self):
        """The default in C++, with its " = "; nothing where there is none."""
        if not self.default:
            return ""
        words = {"None": "std::nullopt" if "optional" in self.type("") else "{}", "True": "true", "False": "false", "inf": "std::numeric_limits<double>::infinity()"}
        if self.kind == "dtype":
            return " = " + self.default.strip("\"'")
        if self.default[0] == "(":
            members = (("std::numeric_limits<double>::quiet_NaN()" if n == "None" else n) for n in self.default.strip("()").split(", "))
            return f" = {{{', '.join(members)}}}"
        return " = " + words.get(self.default, self.default.replace("'", '"'))


def read(text):
    return [Parameter(p) for p in re.split(r", (?![^(]*\))", text) if p and p != "*"]


def common_options(root):
    """Of every optimizer."""
    text = re.search(r'kCommonOptions =\s*"((?:[^"\\]|\\.)*)"', (root / "src/optim/options.cpp").read_text())[1]
    return read(text.replace('\\"', '"'))


def signatures(root, folder):
    """(name, parameters) of the records in a folder's sources."""
    for file in sorted((root / folder).glob("*.cpp")):
        for literals in RECORD.findall(file.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')
            if m := SIGNATURE.fullmatch(text):
                yield m[1], read(m[2])


def layer(name, parameters):
    declared = [p.type("std::string_view") + " " + p.name + p.value() for p in parameters] + ["Options options = {}"]
    arguments = [f"{p.name}.empty() ? Arg() : Arg({p.name})" if p.kind == "int[]" and p.optional else f"Arg({p.name})" for p in parameters]
    given = f"std::initializer_list<Arg>{{{', '.join(arguments)}}}" if arguments else "std::span<const Arg>()"
    return (f"struct {name} : Layer {{\n  explicit {name}({', '.join(declared)})\n      : Layer(layer_def(\"{name}\"), {given}, options) {{}}\n}};\n")


def options(name, parameters):
    """The structure of a class's options."""
    members = "".join(f"  {p.type('std::string')} {p.name}{p.value()};\n" for p in parameters)
    pairs = ", ".join(f'{{"{p.name}", {p.name}}}' for p in parameters)
    return f"struct {name}Options {{\n{members}  operator Options() const {{ return {{{pairs}}}; }}\n}};\n"


def optimizer(name, parameters, common):
    own = options(name, parameters + common)
    return own + (f"struct {name} : Optimizer {{\n"
                  f"  explicit {name}(nn::NamedTensors params, {name}Options options = {{}}, std::vector<std::string> keep32 = {{}})\n"
                  f'      : Optimizer("{name}", std::move(params), options, std::move(keep32)) {{}}\n'
                  f"  explicit {name}(std::vector<ParamGroup> groups, {name}Options options = {{}}, std::vector<std::string> keep32 = {{}})\n"
                  f'      : Optimizer("{name}", std::move(groups), options, std::move(keep32)) {{}}\n}};\n')


def scheduler(name, parameters):
    own = [p for p in parameters if p.kind != "function"]
    function = next((p.name for p in parameters if p.kind == "function"), None)
    factors = f"std::vector<Factor> {function}, " if function else ""
    passed = f", std::move({function})" if function else ""
    absent = " = {}" if all(p.default for p in own) else ""
    return options(name, own) + (f"struct {name} : LRScheduler {{\n"
                                 f"  explicit {name}(Optimizer& optimizer, {factors}{name}Options options{absent})\n"
                                 f'      : LRScheduler("{name}", optimizer, options{passed}) {{}}\n}};\n')


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    headers = "".join((root / "include/dyadic" / h).read_text() for h in ("nn.h", "nn_layers.h", "optim.h", "lr_scheduler.h"))
    by_hand = set(re.findall(r"^(?:template <.*> )?(?:class|struct) (\w+)", headers, re.M))
    common = common_options(root)
    for file, space, folder, make in (
        ("layer_classes.inc", "nn", "src/nn/layers", layer),
        ("optimizer_classes.inc", "optim", "src/optim/optimizers", lambda name, parameters: optimizer(name, parameters, common)),
        ("scheduler_classes.inc", "optim", "src/optim/schedules", scheduler),
    ):
        classes = [make(name, parameters) for name, parameters in signatures(root, folder) if name not in by_hand]
        if not classes:
            sys.exit(f"make_classes: no records in {folder}")
        text = f"// Generated from the records in {folder}.\nnamespace dyadic::inline v1::{space} {{\n\n" + "\n".join(classes) + "\n}\n"
        if not (out / file).exists() or (out / file).read_text() != text:
            (out / file).write_text(text)


if __name__ == "__main__":
    main()
