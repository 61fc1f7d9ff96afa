#!/usr/bin/env python3
"""The C++ classes of layers, optimizers and schedules, from their records: usage: make_classes.py ROOT OUT_FOLDER

"Conv2d(int in_channels, ..., int[] stride=1)" gives nn::Conv2d, whose constructor has these parameters, those with a default by
position or by name: conv(1, 32, 3, {.stride = 2}); "SGD(float lr=1e-3, ...)" gives optim::SGD(params, {.lr = 0.1}); "StepLR(int step_size, ...)" optim::StepLR(optimizer, {.step_size = 30}). Classes that the
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
    def declared(p):
        return p.type("std::string_view") + " " + p.name

    needed, named = [p for p in parameters if not p.default], [p for p in parameters if p.default]
    # Where an int[] could be given in place of options, it cannot be in braces: g++ 12 takes {.stride = 2} for a list of one.
    braces = bool(named) and named[0].kind == "int[]"
    start = "  template <std::convertible_to<IntList> Ints>\n" if braces else ""
    positional = [declared(p) + p.value() for p in parameters] + ["Options options = {}"]
    if braces:
        positional[len(needed)] = f"Ints {named[0].name}"
    arguments = [f"Arg(IntList({p.name}))" if p.kind == "int[]" else f"Arg({p.name})" for p in parameters]
    for i, p in enumerate(parameters):
        if p.kind == "int[]" and p.optional:
            arguments[i] = f"IntList({p.name}).empty() ? Arg() : {arguments[i]}"
    given = f"std::initializer_list<Arg>{{{', '.join(arguments)}}}" if arguments else "std::span<const Arg>()"
    constructors = f"{start}  explicit {name}({', '.join(positional)})\n      : Layer(layer_def(\"{name}\"), {given}, options) {{}}\n"
    if needed and needed[0].kind == "int[]" and len(needed) == 1:
        first = needed[0].name  # MaxPool2d({2, 2}): else {2, 2} might be a MaxPool2d, too
        constructors += f"  explicit {name}(std::initializer_list<int64_t> {first}) : {name}(IntList({first})) {{}}\n"
    if not named:
        return f"struct {name} : Layer {{\n{constructors}}};\n"
    # An int[] points to numbers that live as long as the call: absent, it is empty, and the default is made in the constructor.
    members = "".join(f"  {declared(p).replace('const Tensor&', 'Tensor')}{' = {}' if p.kind == 'int[]' else p.value()};\n" for p in named)
    passed = [f"options.{p.name}" if p.default else p.name for p in parameters]
    for i, p in enumerate(parameters):
        if p.default and p.kind == "int[]":
            passed[i] = f"{passed[i]}.empty() ? IntList{{{p.value()[3:].strip('{}')}}} : {passed[i]}"
    taken = [declared(p) for p in needed] + [f"const {name}Options& options{' = {}' if braces else ''}"]
    return (f"struct {name}Options {{\n  ByName by_name = {{}};\n{members}  DType dtype = {{}};\n  Device device = cpu;\n}};\n"
            f"struct {name} : Layer {{\n{constructors}"
            f"  explicit {name}({', '.join(taken)})\n"
            f"      : {name}({', '.join(passed)}, Options{{options.dtype, options.device}}) {{}}\n}};\n")


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
                  f"  explicit {name}(const std::vector<Tensor>& params, {name}Options options = {{}})\n"
                  f"      : {name}(nn::numbered(params), options) {{}}\n"
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
