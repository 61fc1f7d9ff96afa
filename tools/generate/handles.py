"""Typed names of every op's arguments: ops::softmax_along_op::arg::dim (src/corridor/args.h)."""

KINDS = {"Tensor[]": "TensorsArg", "Scalar": "ScalarArg", "int": "IntArg", "float": "RealArg", "bool": "BoolArg", "int[]": "IntsArg", "ScalarType": "DTypeArg",
         "Device": "DeviceArg", "str": "TextArg"}


def handles(record):
    """Which tensor one is, is known where no list stands before it, nor what may be absent, which counts as one where it is."""
    declared, tensor, counted = "", 0, True
    for i, p in enumerate(record.parameters):
        if p.kind == "Tensor":
            declared += f"inline constexpr TensorArg {p.name}{{{i}, {tensor}}}; " if counted else f"inline constexpr LateTensorArg {p.name}{{{i}}}; "
            tensor += 1
        else:
            declared += f"inline constexpr {KINDS[p.kind]} {p.name}{{{i}}}; "
            counted = counted and p.kind != "Tensor[]" and not p.optional
    return f"namespace {record.op}_op::arg {{ {declared}}}\n"


def text(records):
    return "".join(handles(r) for r in records)
