"""C++ functions of the public ops: free ones by header, methods of Tensor, in-place methods, name_out."""
import re

from records import split

NETWORKS = ("conv", "loss", "norm", "pool", "resize")  # families whose functions are in ops_nn.h
HEADERS = {
    "functions": "The ops as free functions; read by dyadic/ops.h, which says more.",
    "ops_nn": "The ops of networks as free functions. Those of every day (linear, softmax, layer_norm, cross_entropy ...) are in ops.h.",
    "linalg": "Linear algebra under PyTorch's names (torch.linalg). Matrices are the last two dimensions [..., m, n] of float or complex tensors,\n"
              "// the others a batch. Where a matrix must be regular or positive definite and is not, LinAlgError names it.",
    "fft": 'Discrete Fourier transforms under PyTorch\'s names (torch.fft). `norm` is "backward" (the inverse is scaled by 1 / n), "forward" or "ortho".',
}
PLAIN = {"Scalar": "Scalar", "int": "int64_t", "float": "double", "bool": "bool", "str": "std::string_view", "Device": "Device"}
WORDS = {"None": "{}", "True": "true", "False": "false"}


class Taken:
    """A parameter in C++, and what the op is given for it."""

    def __init__(self, type, name, default="", passed=None):
        self.type, self.name, self.default, self.passed = type, name, default, passed or name

    def bare(self):
        return f"{self.type} {self.name}"

    def declared(self):
        return self.bare() + (f" = {self.default}" if self.default else "")


def taken(p, record):
    name, default = p.name.lstrip("_"), WORDS.get(p.default, p.default.replace("'", '"'))
    if p.kind == "Tensor":
        return Taken("const Tensor&", name, default)
    if p.kind == "Tensor[]":
        return Taken("TensorList", name, default)
    if p.kind == "int[]":
        given = "{" + default.strip("[]{}").replace(",", ", ") + "}" if default else ""
        return Taken("IntList", name, given, f"list_or_none({name})" if p.optional else name)
    if p.kind == "ScalarType":
        return Taken("DType", name, default)
    if p.kind == "Device" and not any(q.kind == "Tensor" for q in record.parameters):
        return Taken("Device", name, "cpu")
    if p.kind == "str" and record.overload and not p.default and not p.optional:
        return Taken("const Text auto&", name, "", f"std::string_view({name})")  # so that {} means the other overload
    return Taken(f"std::optional<{PLAIN[p.kind]}>" if p.optional else PLAIN[p.kind], name, default)


class Function:
    """A free function: its namespace, what it returns, its name and parameters; the op, if all it does is to call one."""

    def __init__(self, space, returns, name, parameters, op=None, passed=()):
        self.space, self.returns, self.name, self.parameters, self.op, self.passed = space, returns, name, parameters, op, list(passed)

    def declaration(self):
        return f"{self.returns} {self.name}({', '.join(p.declared() for p in self.parameters)})"

    def defined(self):
        call = {"Tensor": "call", "std::vector<Tensor>": "call_all"}.get(self.returns, f"call_named<{self.returns}>")
        return f"inline {self.declaration()} {{ return {call}({', '.join([f'Op::{self.op}_', *self.passed])}); }}\n"

    def method(self):
        """x.name(...) in place of name(x, ...)."""
        return not self.space and bool(self.parameters) and self.parameters[0].bare() == "const Tensor& self"

    def method_declared(self, suffix=""):
        returns = "Tensor&" if suffix else self.returns
        return f"  {returns} {self.name}{suffix}({', '.join(p.declared() for p in self.parameters[1:])}) const;\n"

    def method_defined(self, suffix=""):
        head = ", ".join(p.bare() for p in self.parameters[1:])
        if suffix:
            body = f"call_inplace({', '.join([f'Op::{self.op}_', '*this', *self.passed[1:]])})"
        else:
            body = f"dyadic::{self.name}({', '.join(['*this', *(p.name for p in self.parameters[1:])])})"
        return f"inline {'Tensor&' if suffix else self.returns} Tensor::{self.name}{suffix}({head}) const {{ return {body}; }}\n"

    def out_defined(self):
        head = ", ".join(["const Tensor& out", *(p.declared() for p in self.parameters)])
        return f"inline const Tensor& {self.name}_out({head}) {{ return call_out({', '.join([f'Op::{self.op}_', 'out', *self.passed])}); }}\n"


class Results:
    """Structures of several results: those that ops.h defines, by their fields, and others, whose names are the fields'."""

    def __init__(self, by_hand):
        self.names, self.made = {}, []
        self.hand = []
        space = ""
        for line in by_hand.splitlines():
            if m := re.match(r"namespace (\w+) \{", line):
                space = m[1]
            elif line.startswith("}  // namespace"):
                space = ""
            elif m := re.match(r"DY_RESULTS\d\((\w+), (.*)\);", line):
                self.names[space, tuple(m[2].split(", "))] = m[1]
                self.hand.append((space, m[1]))

    def type(self, record):
        if record.returns_list or not all(record.results) and len(record.results) > 1:
            return "std::vector<Tensor>"
        if len(record.results) == 1:
            return "Tensor"
        key = record.space, tuple(record.results)
        if key not in self.names:
            self.names[key] = "".join(f[0].upper() + f[1:] for f in key[1])
            self.made.append(key)
        return self.names[key]

    def forward(self):
        """Those that methods return."""
        made = [(space, self.names[space, fields]) for space, fields in self.made]
        return "".join(f"struct {name};\n" for space, name in self.hand + made if not space)

    def defined(self, space):
        return "".join(f"DY_RESULTS{len(fields)}({self.names[s, fields]}, {', '.join(fields)});\n" for s, fields in self.made if s == space)


def functions_of(record, results):
    """The overloads of an op. Of a pointwise op, what its formula does not take chooses another op, and is passed only where it is given;
    one of two operands may be a number."""
    all, returns = [taken(p, record) for p in record.parameters], results.type(record)
    tensors = sum(p.kind == "Tensor" for p in record.parameters)
    forms = [all]
    if record.kind == "pointwise" and len(all) > tensors + record.numbers:
        given = [Taken(p.type, p.name, "" if i == 0 else p.default, p.passed) for i, p in enumerate(all[tensors:])]
        forms = [all[:tensors], all[:tensors] + given]
    if record.kind == "pointwise" and tensors == 2 and not record.numbers:
        numbers = [[Taken("Scalar", p.name, "", f"scalar_tensor({p.name})") if i == k else p for i, p in enumerate(form)] for form in forms for k in (1, 0)]
        forms = forms + numbers
    return [Function(record.space, returns, record.name, form, record.op, [p.passed for p in form]) for form in forms]


def lines(texts):
    return "\n".join(dict.fromkeys(texts))


HAND = re.compile(r"^(?:inline )?(?P<type>[\w:<>]+) (?P<name>\w+)\((?P<parameters>.*?)\)(?: \{ (?P<body>.*) \}|;)", re.M)
CALL = re.compile(r"return call\(Op::(\w+)_, (.*)\);")


def written(text):
    """The free functions that a header defines by hand, one line each."""
    found = []
    for m in HAND.finditer(text):
        parameters = []
        for p in split(m["parameters"]):
            declared, _, default = p.partition(" = ")
            type, _, name = declared.rpartition(" ")
            parameters.append(Taken(type, name, default))
        call = CALL.fullmatch(m["body"] or "")
        found.append(Function("", m["type"], m["name"], parameters, call and call[1], split(call[2]) if call else ()))
    return [f for f in found if f.returns != "Arg"]


class Functions:
    """Of all public ops: those that are generated by header, those of ops.h."""

    def __init__(self, root, records):
        header = {h: (root / f"include/dyadic/{h}.h").read_text() for h in ("tensor", "ops", "tensor_options")}
        self.results, self.hand, self.options = Results(header["ops"]), written(header["ops"]), written(header["tensor_options"])
        taken_names = {f.name for f in self.hand + written(header["tensor"])}
        self.methods_by_hand = set(re.findall(r"\b(\w+)\([^()]*\) const[;\s]", header["tensor"]))
        self.tensor_methods = re.findall(r"^  ((?:const )?Tensor&?) (\w+?)(_?\(.*\)) const;", header["tensor"], re.M)
        self.records = {r.op: r for r in records}
        self.families = {h: {} for h in HEADERS}
        for r in records:
            if not r.internal and (r.space or r.name not in taken_names):
                h = r.space or ("ops_nn" if r.family in NETWORKS else "functions")
                self.families[h].setdefault(r.family, []).extend(functions_of(r, self.results))

    def generated(self):
        return [f for families in self.families.values() for functions in families.values() for f in functions]

    def methods(self):
        """(declarations, definitions) of all functions that are methods too."""
        declared = defined = ""
        for f in filter(Function.method, self.hand + self.generated()):
            if f.name not in self.methods_by_hand:
                declared, defined = declared + f.method_declared(), defined + f.method_defined()
            if f.op and self.records[f.op].inplace and f.passed[0] == "self" and f.name + "_" not in self.methods_by_hand:
                declared, defined = declared + f.method_declared("_"), defined + f.method_defined("_")
        return declared, defined

    def outs(self, functions):
        return [f for f in functions if f.op and f.returns == "Tensor" and self.records[f.op].kind != "view"]

    def header(self, name):
        space = "" if name in ("functions", "ops_nn") else name
        text = f"// {HEADERS[name]}\n// Made from the records of the ops (tools/generate), whose documentation `dyadic ops NAME` shows.\n"
        text += '#pragma once\n#include "dyadic/ops.h"\n\n' if name != "functions" else ""
        text += f"namespace dyadic::inline v1{'::' + space if space else ''} {{\n\n"
        text += self.results.defined(space) if name != "ops_nn" else ""
        for family, functions in self.families[name].items():
            text += f"\n// {family}\n" + "".join(f.defined() for f in functions)
        if name != "functions":
            text += "\n" + "".join(f.out_defined() for family in self.families[name].values() for f in self.outs(family))
        return text + f"\n}}  // namespace dyadic::inline v1{'::' + space if space else ''}\n"

    def files(self):
        declared, defined = self.methods()
        outs = "".join(f.out_defined() for f in self.outs(self.hand + [f for fs in self.families["functions"].values() for f in fs]))
        files = {f"dyadic/{name}.{'inc' if name == 'functions' else 'h'}": self.header(name) for name in HEADERS}
        files["dyadic/result_types.inc"] = self.results.forward()
        files["dyadic/tensor_methods.inc"] = "// Made from the free functions; read inside of class Tensor.\n" + declared
        files["dyadic/methods.inc"] = f"// Made from the free functions.\nnamespace dyadic::inline v1 {{\n{defined}{outs}}}\n"
        return files

    def declarations(self):
        """What C++ has for each op, for the reference: functions by their name and by the op that they call, methods by hand."""
        found = {op: [] for op in self.records}
        for f in self.hand + self.generated():
            text = f"{f.returns} {f.space + '::' if f.space else ''}{f.declaration()[len(f.returns) + 1:]}"
            for op in {f.op, f.name if not f.space else None} & found.keys():
                found[op].append(text)
        for returns, name, rest in self.tensor_methods:
            if name in found:
                found[name].append(f"{returns} Tensor::{name}{rest}")
        return "".join(f"    R\"cpp({lines(texts)})cpp\",\n" for texts in found.values())
