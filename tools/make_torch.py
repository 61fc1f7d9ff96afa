#!/usr/bin/env python3
"""What namespace torch (include/dyadic/torch.h) has by name, from the records and the public headers: usage: make_torch.py ROOT OUT_FOLDER

torch_layers.inc      Conv2dOptions(1, 10, 5).stride(2), Conv2dImpl and its holder Conv2d, of each layer's record
torch_optim.inc       SGDOptions(0.1).momentum(0.9) and SGD; StepLR(optimizer, 30, 0.1)
torch_functional.inc  functional::max_pool2d(x, MaxPool2dFuncOptions(2).stride(1)), of each function with defaults
torch_names.inc       using dyadic::add; ... of each function
"""
import re
import sys
from pathlib import Path

from make_classes import Parameter, read, signatures
from make_methods import split

HEADERS = ("ops", "ops_more", "ops_nn", "tensor_options")
FUNCTION = re.compile(r"^inline (Tensor|std::vector<Tensor>|\w+|bool) (\w+)\((.*?)\) \{", re.M)
MACRO = re.compile(r"\bDY_(?:UNARY|BINARY|LIKE)\((\w+)\)")
NOT_OPS = {"name", "values_indices", "list_or_none"}
OWN = {"bucketize", "searchsorted"}  # whose arguments stand in another order: torch.h
ACRONYMS = {"nll", "mse", "elu", "gelu", "selu", "celu", "glu", "kl", "ctc", "bce", "l1", "lp", "prelu", "rrelu", "relu", "relu6"}
CAMEL = {"prelu": "PReLU", "rrelu": "RReLU", "leaky": "Leaky", "relu": "ReLU", "relu6": "ReLU6", "logsigmoid": "LogSigmoid", "multilabel": "Multilabel",
         "softmax": "Softmax", "l1": "L1", "kl": "KL", "lp": "LP"}
FORWARD = {  # of layers that take or give several tensors: torch/layers.h
    "LSTM": "LongShortTerm", "GRU": "Recurrent", "RNN": "Recurrent", "LSTMCell": "LongShortTermCell", "GRUCell": "RecurrentCell",
    "RNNCell": "RecurrentCell", "MultiheadAttention": "Attending",
    "TransformerEncoderLayer": "Calling", "TransformerDecoderLayer": "Calling", "Transformer": "Calling",
}
BY_HAND = {  # layers that are no records: their parameters, and how the class takes them
    "Linear": ("int in_features, int out_features, bool bias=True", "o.in_features(), o.out_features(), o.bias()"),
    "Embedding": ("int num_embeddings, int embedding_dim, int? padding_idx=None, float? max_norm=None, float norm_type=2, bool scale_grad_by_freq=False",
                  "o.num_embeddings(), o.embedding_dim(), dyadic::nn::EmbeddingOptions{.padding_idx = o.padding_idx(), .max_norm = o.max_norm(), "
                  ".norm_type = o.norm_type(), .scale_grad_by_freq = o.scale_grad_by_freq()}"),
    "LayerNorm": ("int[] normalized_shape, float eps=1e-5, bool elementwise_affine=True", "IntArrayRef(o.normalized_shape()), o.eps(), o.elementwise_affine()"),
}


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
    value = p.value().removeprefix(" = ")
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


def layer(name, parameters):
    text = option_class(name + "Options", parameters)
    made = (f"  template <class... A>\n    requires(std::constructible_from<{name}Options, A...> && !(std::derived_from<std::remove_cvref_t<A>, {name}Options> || ...))\n"
            f"  explicit {name}Impl(A&&... a) : {name}Impl({name}Options(std::forward<A>(a)...)) {{}}\n}};\nTORCH_MODULE({name});\n")
    if name in BY_HAND:
        return text + (f"struct {name}Impl : dyadic::nn::{name} {{\n  {name}Options options;\n"
                       f"  explicit {name}Impl(const {name}Options& o) : dyadic::nn::{name}({BY_HAND[name][1]}), options(o) {{}}\n" + made)
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
    declared = "".join(f", {held(p)} {p.name}{p.value()}" for p in parameters)
    given = ", ".join(f".{p.name} = {p.name}" for p in parameters)
    return (f"struct {name} : dyadic::optim::{name} {{\n  explicit {name}(Optimizer& optimizer{declared})\n"
            f"      : dyadic::optim::{name}(optimizer, {{{given}}}) {{}}\n}};\n")


def camel(name):
    return "".join(CAMEL.get(w, w.upper() if w in ACRONYMS else w.capitalize()) for w in name.split("_"))


CPP = {"int64_t": "int", "double": "float", "bool": "bool", "IntList": "int[]", "std::string_view": "str", "const Tensor&": "Tensor", "Scalar": "Scalar", "DType": "dtype"}


def functional(name, parameters):
    """With options, of a function that has defaults; nothing where that is of no use."""
    inputs, named = [], []
    for text in parameters:
        declared, _, default = text.partition(" = ")
        kind, parameter = declared.rsplit(" ", 1)
        optional = kind.startswith("std::optional<")
        kind = CPP.get(kind.removeprefix("std::optional<").removesuffix(">") if optional else kind)
        if kind is None:
            return ""
        if kind == "Tensor" and not default:
            inputs.append(parameter)
            continue
        p = Parameter(f"{kind} {parameter}")
        p.optional, p.default = optional, default
        p.value = lambda d=default: f" = {d}" if d else ""
        named.append(p)
    if not inputs or not named:
        return ""
    options = camel(name) + "FuncOptions"
    arguments = []
    for text in parameters:
        parameter = text.partition(" = ")[0].rsplit(" ", 1)[1]
        arguments.append(parameter if parameter in inputs else f"o.{parameter}()")
    declared = ", ".join(f"const Tensor& {i}" for i in inputs)
    return option_class(options, named) + f"inline Tensor {name}({declared}, const {options}& o) {{ return dyadic::{name}({', '.join(arguments)}); }}\n"


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    header = {h: (root / f"include/dyadic/{h}.h").read_text() for h in HEADERS}
    functions = [m for h in HEADERS for m in FUNCTION.finditer(header[h])]
    names = {m[2] for m in functions} | {n for h in HEADERS for n in MACRO.findall(header[h])}
    names |= set(re.findall(r"inline const Tensor& (\w+_out)\(", "".join((out / f"{h}_methods.inc").read_text() for h in ("ops", "ops_more"))))
    names = {n for n in names if not n.startswith("operator") and "#" not in n} - NOT_OPS - OWN
    linalg = {m[2] for m in FUNCTION.finditer((root / "include/dyadic/linalg.h").read_text())}
    linalg |= set(re.findall(r"^inline \w+ (\w+)\(", (root / "include/dyadic/linalg.h").read_text(), re.M))
    written = {"torch_names.inc": "".join(f"using dyadic::{n};\n" for n in sorted(names))}
    written["torch_names.inc"] += "".join(f"inline constexpr auto linalg_{n} = [](const auto&... a) {{ return dyadic::linalg::{n}(a...); }};\n" for n in sorted(linalg))
    layers = [(name, read(text)) for name, (text, _) in BY_HAND.items()]
    layers += [(name, p) for name, p in signatures(root, "src/nn/layers") if not any(q.kind == "Layer" for q in p)]
    written["torch_layers.inc"] = "\n".join(layer(*l) for l in layers)
    optimizers = "\n".join(optimizer(*o) for o in signatures(root, "src/optim/optimizers"))
    written["torch_optim.inc"] = optimizers + "\n".join(scheduler(*s) for s in signatures(root, "src/optim/schedules"))
    once, text = set(), ""
    for m in functions:
        if m[1] == "Tensor" and m[2] not in once and (made := functional(m[2], split(m[3]))):
            once.add(m[2])
            text += made
    written["torch_functional.inc"] = text
    for file, text in written.items():
        text = "// Generated by tools/make_torch.py.\n" + text
        if not (out / file).exists() or (out / file).read_text() != text:
            (out / file).write_text(text)


if __name__ == "__main__":
    main()
