"""What namespace torch (include/dyadic/torch.h) has by name.

torch_layers.inc      Conv2dOptions(1, 10, 5).stride(2), Conv2dImpl and its holder Conv2d, of each layer's record
torch_optim.inc       SGDOptions(0.1).momentum(0.9) and SGD; StepLR(optimizer, 30, 0.1)
torch_functional.inc  functional::max_pool2d(x, MaxPool2dFuncOptions(2).stride(1)), of each function with defaults
torch_names.inc       using dyadic::add; ... of each function
torch_aliases.inc     PyTorch's other names of ops
"""
import re

from classes import value_of
from records import Parameter, class_records, parameters

OWN = {"bucketize", "searchsorted"}  # whose arguments stand in another order: torch/names.h
ACRONYMS = {"nll", "mse", "elu", "gelu", "selu", "celu", "glu", "kl", "ctc", "bce", "l1", "lp", "prelu", "rrelu", "relu", "relu6"}
CAMEL = {"prelu": "PReLU", "rrelu": "RReLU", "leaky": "Leaky", "relu": "ReLU", "relu6": "ReLU6", "logsigmoid": "LogSigmoid", "multilabel": "Multilabel",
         "softmax": "Softmax", "l1": "L1", "kl": "KL", "lp": "LP"}
FORWARD = {  # of layers that take or give several tensors: torch/layers.h
    "LSTM": "LongShortTerm", "GRU": "Recurrent", "RNN": "Recurrent", "LSTMCell": "LongShortTermCell", "GRUCell": "RecurrentCell",
    "RNNCell": "RecurrentCell", "MultiheadAttention": "Attending",
    "TransformerEncoderLayer": "Calling", "TransformerDecoderLayer": "Calling", "Transformer": "Calling",
}
KINDS = {"int64_t": "int", "double": "float", "bool": "bool", "IntList": "int[]", "std::optional<int64_t>": "int?", "std::optional<double>": "float?"}
WORDS = {"true": "True", "false": "False", "{}": "None"}


def header_layers(root):
    """Of the layers that nn.h declares itself, with options by name (struct LinearOptions): their parameters, and how many come before those."""
    text, found = (root / "include/dyadic/nn.h").read_text(), {}
    for name, fields in re.findall(r"^struct (\w+)Options \{\n  ByName by_name = \{\};\n(.*?)^\};", text, re.M | re.S):
        needed = re.search(rf"^  {name}\(([^{{}}]*), const {name}Options&", text, re.M)[1]
        options = re.findall(r"^  ([\w:<>]+) (\w+) = (.*);$", fields, re.M)
        declared = [f"{KINDS[kind]} {own}" for kind, own in (part.split(" ") for part in needed.split(", "))]
        declared += [f"{KINDS[kind]} {own}={WORDS.get(value, value)}" for kind, own, value in options if kind not in ("DType", "Device")]
        found[name] = parameters(", ".join(declared)), needed.count(",") + 1
    return found


def held(p):
    """The type that an option is held in."""
    plain = {"int": "int64_t", "float": "double", "bool": "bool", "dtype": "DType", "int[]": "Ints", "float[]": "std::vector<double>", "str": "Word", "Tensor": "Tensor",
             "Scalar": "Scalar"}[p.kind]
    if p.kind == "float[]" and p.default.startswith("(") and p.default.count(",") == 1:
        plain = "std::tuple<double, double>"
    if p.name == "scale_factor":
        return "Factor"
    return f"std::optional<{plain}>" if p.optional and p.kind not in ("int[]", "Tensor") else plain


def initial(p):
    value = getattr(p, "initial", value_of(p).removeprefix(" = "))
    if p.kind == "float[]" and not p.default.startswith("("):
        return "{}"
    return value if value.startswith("{") else "{" + ("" if value == "std::nullopt" else value) + "}"


def members(parameters):
    return "".join(f"  TORCH_ARG({held(p).replace(', ', ' DY_COMMA ')}, {p.name}){initial(p) if p.default else ''};\n" for p in parameters)


def option_class(name, parameters):
    """By position those that are needed, and one more; the rest by name."""
    needed = [p for p in parameters if not p.default]
    given = needed + [p for p in parameters if p.default][:1]
    constructors = ""
    for taken in ([needed, given] if len(given) > len(needed) else [needed]):
        if not taken:
            constructors += f"  {name}() = default;\n"
            continue
        declared = ", ".join(f"{held(p)} {p.name}" for p in taken)
        constructors += f"  {name}({declared}) : {', '.join(f'{p.name}_(std::move({p.name}))' for p in taken)} {{}}\n"
    if len(needed) == 1 and needed[0].kind == "int[]":  # Options({3, 3}): else {3, 3} might be Options, too
        constructors += f"  {name}(std::initializer_list<int64_t> {needed[0].name}) : {needed[0].name}_({needed[0].name}) {{}}\n"
    return f"class {name} {{\n public:\n{constructors}{members(parameters)}}};\n"


def layer(name, parameters, positional=None):
    """positional: of a layer of nn.h, how many arguments stand before its options."""
    text = option_class(name + "Options", parameters)
    made = (f"  template <class... A>\n    requires(std::constructible_from<{name}Options, A...> && !(std::derived_from<std::remove_cvref_t<A>, {name}Options> || ...))\n"
            f"  explicit {name}Impl(A&&... a) : {name}Impl({name}Options(std::forward<A>(a)...)) {{}}\n}};\nTORCH_MODULE({name});\n")
    if positional is not None:
        own = [f"IntArrayRef(o.{p.name}())" if p.kind == "int[]" else f"o.{p.name}()" for p in parameters]
        named = ", ".join(f".{p.name} = {v}" for p, v in list(zip(parameters, own))[positional:])
        given = ", ".join([*own[:positional], f"dyadic::nn::{name}Options{{{named}}}"])
        return text + (f"struct {name}Impl : dyadic::nn::{name} {{\n  {name}Options options;\n"
                       f"  explicit {name}Impl(const {name}Options& o) : dyadic::nn::{name}({given}), options(o) {{}}\n" + made)
    values = []
    for p in parameters:
        v = f"o.{p.name}()"
        if p.kind == "int[]":
            v = f"Arg(IntArrayRef({v}))" if not p.optional else f"{v}.empty() ? Arg() : Arg(IntArrayRef({v}))"
        elif p.kind == "str":
            v = f"Arg(std::string_view({v}))"
        else:
            v = f"Arg({v})"
        values.append(v)
    base = FORWARD.get(name, "Plain")
    given = f"std::initializer_list<Arg>{{{', '.join(values)}}}" if values else "std::span<const Arg>()"
    return text + (f"struct {name}Impl : {base}<{name}Options> {{\n"
                   f"  explicit {name}Impl(const {name}Options& o) : {base}(\"{name}\", {given}, o) {{}}\n"
                   + made)


def accessor(name, p):
    kind = held(p)
    if kind == "std::tuple<double, double>":
        return (f"  {name}& {p.name}({kind} v) {{ return set(\"{p.name}\", {{std::get<0>(v), std::get<1>(v)}}), *this; }}\n"
                f"  {kind} {p.name}() const {{ return {{number(\"{p.name}\", 0), number(\"{p.name}\", 1)}}; }}\n")
    setter = f"  {name}& {p.name}({kind} v) {{ return set(\"{p.name}\", v), *this; }}\n"
    if kind in ("double", "int64_t", "bool"):
        return setter + f"  {kind} {p.name}() const {{ return {kind}(number(\"{p.name}\")); }}\n"
    return setter


def optimizer(name, parameters):
    parameters = [p for p in parameters if p.kind != "str"]
    lr = any(p.name == "lr" for p in parameters)
    text = f"class {name}Options : public OptimizerOptions {{\n public:\n  {name}Options() = default;\n"
    text += f"  {name}Options(double lr) {{ set(\"lr\", lr); }}\n" if lr else ""
    text += "".join(accessor(name + "Options", p) for p in parameters) + "};\n"
    return text + (f"struct {name} : Optimizer {{\n"
                   f"  explicit {name}(const std::vector<Tensor>& params, const {name}Options& o = {{}})\n"
                   f"      : Optimizer(\"{name}\", dyadic::nn::numbered(params), o.named()) {{}}\n"
                   f"  explicit {name}(dyadic::nn::NamedTensors params, const {name}Options& o = {{}})\n"
                   f"      : Optimizer(\"{name}\", std::move(params), o.named()) {{}}\n"
                   f"  explicit {name}(const std::vector<OptimizerParamGroup>& groups, const {name}Options& o = {{}})\n"
                   f"      : Optimizer(\"{name}\", numbered_groups(groups), o.named()) {{}}\n}};\n")


def scheduler(name, parameters):
    if any(p.kind not in ("int", "float", "bool") for p in parameters):
        return ""
    declared = "".join(f", {held(p)} {p.name}{value_of(p)}" for p in parameters)
    given = ", ".join(f".{p.name} = {p.name}" for p in parameters)
    return (f"struct {name} : dyadic::optim::{name} {{\n  explicit {name}(Optimizer& optimizer{declared})\n"
            f"      : dyadic::optim::{name}(optimizer, {{{given}}}) {{}}\n}};\n")


def camel(name):
    return "".join(CAMEL.get(w, w.upper() if w in ACRONYMS else w.capitalize()) for w in name.split("_"))


CPP = {"int64_t": "int", "double": "float", "bool": "bool", "IntList": "int[]", "std::string_view": "str", "const Tensor&": "Tensor", "Scalar": "Scalar", "DType": "dtype"}


def option(taken):
    """A parameter of a function as an option; None where that is of no use."""
    optional = taken.type.startswith("std::optional<")
    kind = CPP.get(taken.type.removeprefix("std::optional<").removesuffix(">") if optional else taken.type)
    if not kind:
        return None
    p = Parameter(f"{kind}{'?' * optional} {taken.name}={taken.default}")
    p.initial = taken.default
    return p


def functional(f):
    """With options, of a function that has defaults."""
    options = {p.name: option(p) for p in f.parameters}
    inputs = [p.name for p in f.parameters if p.type == "const Tensor&" and not p.default]
    named = [o for name, o in options.items() if name not in inputs]
    if not inputs or not named or None in named:
        return ""
    name = camel(f.name) + "FuncOptions"
    arguments = ", ".join(p.name if p.name in inputs else f"o.{p.name}()" for p in f.parameters)
    declared = ", ".join(f"const Tensor& {i}" for i in inputs)
    return option_class(name, named) + f"inline Tensor {f.name}({declared}, const {name}& o) {{ return dyadic::{f.name}({arguments}); }}\n"


def functionals(functions):
    made = {}
    for f in functions:
        if f.returns == "Tensor" and not f.space and f.name not in made and (text := functional(f)):
            made[f.name] = text
    return "".join(made.values())


def names(functions, generated):
    here = {f.name for f in functions if not f.space} | {f.name + "_out" for f in functions if f in generated and not f.space}
    linalg = sorted({f.name for f in functions if f.space == "linalg"})
    text = "".join(f"using dyadic::{n};\n" for n in sorted(here - OWN))
    return text + "".join(f"inline constexpr auto linalg_{n} = [](const auto&... a) {{ return dyadic::linalg::{n}(a...); }};\n" for n in linalg)


def aliases(records, functions):
    """The functions of an op again, by each of its other names."""
    text = ""
    for r in records:
        for f in functions:
            if r.internal or (f.space, f.name) != (r.space, r.name):
                continue
            head, given = ", ".join(p.declared() for p in f.parameters), ", ".join(p.name for p in f.parameters)
            text += "".join(f"inline {f.returns} {a}({head}) {{ return dyadic::{f.space + '::' if f.space else ''}{f.name}({given}); }}\n" for a in r.aliases)
    return f"namespace dyadic::inline v1::aliases {{\n{text}}}\n"


def files(root, records, functions):
    layers = [(name, *own) for name, own in header_layers(root).items()]
    layers += [(name, p) for name, p in class_records(root, "src/nn/layers") if not any(q.kind == "Layer" for q in p)]
    optimizers = "\n".join(optimizer(*o) for o in class_records(root, "src/optim/optimizers"))
    all = functions.hand + functions.generated()
    made = {
        "names": names(all + functions.options, functions.outs(all)),
        "aliases": aliases(records, all),
        "layers": "\n".join(layer(*l) for l in layers),
        "optim": optimizers + "\n".join(scheduler(*s) for s in class_records(root, "src/optim/schedules")),
        "functional": functionals(all + functions.options),
    }
    return {f"dyadic/torch_{name}.inc": "// Made by tools/generate.\n" + text for name, text in made.items()}
