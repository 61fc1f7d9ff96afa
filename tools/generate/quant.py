"""The methods of quantization as C++ functions: quant::gptq(weight, inputs, format, {.damping = 0.1}).

A record's signature has the options. What a method returns, and whether inputs must be given, its other fields say.
"""
import re

from classes import options
from records import OpRecord, parameters


def records(root):
    """(name, options, needs inputs, scales them) of the methods."""
    found = []
    for file in sorted((root / "src/quant/methods").glob("*.cpp")):
        text = file.read_text()
        m = re.fullmatch(r"(\w+)\((.*)\)", OpRecord.field(text, "sig"))
        found.append((m[1], parameters(m[2]), ".needs_inputs = true" in text, ".input_scale =" in text))
    return found


def function(name, own, needs, scales):
    cls = name.capitalize() + "Options"
    more, passed = (f", const {cls}& options = {{}}", ", options") if own else ("", "")
    result, call = ("Scaled", "quantize_scaled") if scales else ("Tensor", "quantize_matrix")
    weight = "" if scales else ".weight"
    text = (f"inline {result} {name}(const Tensor& weight, const Tensor& inputs, DType format{more}) {{\n"
            f'  return {call}(method("{name}"), weight, inputs, format{passed}){weight};\n}}\n')
    if not needs:  # a weight alone will do
        text += (f"inline {result} {name}(const Tensor& weight, DType format{more}) {{\n"
                 f"  return {name}(weight, Tensor(), format{passed});\n}}\n")
    return (options(name.capitalize(), own) if own else "") + text


def files(root):
    made = "\n".join(function(*r) for r in records(root))
    return {"dyadic/quant_methods.inc": f"// Made from the records in src/quant/methods.\nnamespace dyadic::inline v1::quant {{\n\n{made}\n}}\n"}
