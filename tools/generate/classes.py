"""The C++ classes of layers, optimizers and schedules.

"Conv2d(int in_channels, ..., int[] stride=1)" gives nn::Conv2d, whose constructor has these parameters, those with a default by
position or by name: conv(1, 32, 3, {.stride = 2}); "SGD(float lr=1e-3, ...)" gives optim::SGD(params, {.lr = 0.1}); "StepLR(int step_size, ...)"
optim::StepLR(optimizer, {.step_size = 30}). Classes that the headers define by hand stay.
"""
import re

from records import LITERAL, class_records, joined, parameters

TYPES = {"int": "int64_t", "float": "double", "bool": "bool", "dtype": "DType", "int[]": "IntList", "float[]": "std::vector<double>"}
INFINITY, NAN = "std::numeric_limits<double>::infinity()", "std::numeric_limits<double>::quiet_NaN()"


def type_of(p, text):
    """In C++; text: what a str is. An absent int[] is empty, an absent Tensor undefined."""
    plain = {**TYPES, "str": text, "Tensor": "const Tensor&"}[p.kind]
    return f"std::optional<{plain}>" if p.optional and p.kind not in ("int[]", "Tensor") else plain


def value_of(p):
    """The default in C++, with its " = "; nothing where there is none."""
    if not p.default:
        return ""
    if p.kind == "dtype":
        return " = " + p.default.strip("\"'")
    if p.default[0] == "(":
        return f" = {{{', '.join(NAN if n == 'None' else n for n in p.default.strip('()').split(', '))}}}"
    words = {"None": "std::nullopt" if p.optional and p.kind not in ("int[]", "Tensor") else "{}", "True": "true", "False": "false", "inf": INFINITY}
    return " = " + words.get(p.default, p.default.replace("'", '"'))


def common_options(root):
    """Of every optimizer."""
    return parameters(joined(re.search(rf"kCommonOptions =\s*({LITERAL})", (root / "src/optim/options.cpp").read_text())[1]))


def layer(name, parameters):
    def declared(p):
        return type_of(p, "std::string_view") + " " + p.name

    needed, named = [p for p in parameters if not p.default], [p for p in parameters if p.default]
    # Where an int[] could be given in place of options, it cannot be in braces: g++ 12 takes {.stride = 2} for a list of one.
    braces = bool(named) and named[0].kind == "int[]"
    start = "  template <std::convertible_to<IntList> Ints>\n" if braces else ""
    positional = [declared(p) + value_of(p) for p in parameters] + ["Options options = {}"]
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
    members = "".join(f"  {declared(p).replace('const Tensor&', 'Tensor')}{' = {}' if p.kind == 'int[]' else value_of(p)};\n" for p in named)
    passed = [f"options.{p.name}" if p.default else p.name for p in parameters]
    for i, p in enumerate(parameters):
        if p.default and p.kind == "int[]":
            passed[i] = f"{passed[i]}.empty() ? IntList{{{value_of(p)[3:].strip('{}')}}} : {passed[i]}"
    taken = [declared(p) for p in needed] + [f"const {name}Options& options{' = {}' if braces else ''}"]
    return (f"struct {name}Options {{\n  ByName by_name = {{}};\n{members}  DType dtype = {{}};\n  Device device = cpu;\n}};\n"
            f"struct {name} : Layer {{\n{constructors}"
            f"  explicit {name}({', '.join(taken)})\n"
            f"      : {name}({', '.join(passed)}, Options{{options.dtype, options.device}}) {{}}\n}};\n")


def options(name, parameters):
    """The structure of a class's options."""
    members = "".join(f"  {type_of(p, 'std::string')} {p.name}{value_of(p)};\n" for p in parameters)
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


def files(root):
    headers = "".join((root / "include/dyadic" / h).read_text() for h in ("nn.h", "nn_layers.h", "optim.h", "lr_scheduler.h"))
    by_hand = set(re.findall(r"^(?:template <.*> )?(?:class|struct) (\w+)", headers, re.M))
    common = common_options(root)
    made = {}
    for file, space, folder, make in (
        ("layer_classes.inc", "nn", "src/nn/layers", layer),
        ("optimizer_classes.inc", "optim", "src/optim/optimizers", lambda name, own: optimizer(name, own, common)),
        ("scheduler_classes.inc", "optim", "src/optim/schedules", scheduler),
    ):
        classes = [make(name, own) for name, own in class_records(root, folder) if name not in by_hand]
        made["dyadic/" + file] = f"// Made from the records in {folder}.\nnamespace dyadic::inline v1::{space} {{\n\n" + "\n".join(classes) + "\n}\n"
    return made
