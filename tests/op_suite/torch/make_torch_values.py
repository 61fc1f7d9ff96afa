#!/usr/bin/env python3
"""Stores what PyTorch computes for the calls of the op suite: values, and gradients for a fixed upstream gradient.

    make_torch_values.py build/release/bin/dyadic_tests [OP...]      all ops, or these

The test program writes its calls and their inputs; every call runs here as torch.<op>, torch.nn.functional.<op>,
torch.Tensor.<op>, torch.special.<op> or torch.linalg.<op>, the first that takes its arguments (linalg_<op> and fft_<op> as torch.linalg.<op>, torch.fft.<op>), in float64 from the same inputs.
The results go to <op>.safetensors beside this script. Needs torch and numpy; the tests that read the files need neither.
"""
import argparse
import ast
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
PLACES = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.Tensor": torch.Tensor,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
}
MAKERS = {"randn", "rand", "steps", "zeros", "ones", "mask", "indices", "spd"}
SAFE_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    "C64": torch.complex64, "C128": torch.complex128,
}  # fmt: skip
SAFE_NAMES = {dtype: name for name, dtype in SAFE_DTYPES.items()}
WORDS = {name.lower(): dtype for name, dtype in SAFE_DTYPES.items()} | {"cpu": "cpu"}


class Refused(Exception):
    """PyTorch does not take this call."""


def load(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, t in header.items():
        begin, end = (8 + size + offset for offset in t["data_offsets"])
        dtype = SAFE_DTYPES[t["dtype"]]
        raw = bytearray(data[begin:end])
        tensors[name] = torch.frombuffer(raw, dtype=dtype).reshape(t["shape"]) if raw else torch.empty(t["shape"], dtype=dtype)
    return tensors, metadata


def save(path, tensors, metadata):
    """Complex numbers are stored as pairs: a last dimension of two."""
    header, data = {"__metadata__": metadata}, b""
    for name, t in tensors.items():
        t = t.detach().resolve_conj().resolve_neg()
        t = torch.view_as_real(t) if t.is_complex() else t
        raw = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        header[name] = {
            "dtype": SAFE_NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)],
        }  # fmt: skip
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def parameters(signature):
    """(name, type, keyword only) of each parameter."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")", 0, signature.index("->"))]
    out, star = [], False
    for piece in re.split(r",\s*(?![^\[\(]*[\]\)])", inside):
        if piece == "*":
            star = True
        elif piece:
            kind, name = piece.split("=")[0].rsplit(" ", 1)
            out.append((name, kind.rstrip("?"), star))
    return out


def read_arguments(line, tensors):
    """The values of a call's line; tensor makers take the given tensors in order."""
    tensors = iter(tensors)

    def value(node):
        if isinstance(node, ast.List):
            return [value(e) for e in node.elts]
        if isinstance(node, ast.Call):
            return next(tensors)
        if isinstance(node, ast.Name):
            if node.id not in WORDS:
                raise Refused(f"torch has no {node.id}")
            return WORDS[node.id]
        return ast.literal_eval(node)

    return [value(node) for node in ast.parse(line.replace("(;", "(").replace(";", ","), mode="eval").body.args]


def forms(call_parameters, values):
    """(positional, keywords) in the ways PyTorch may take them: numbers by name, all by position, lists of one as a number."""
    tensors, words, named = [], {}, {}
    for (name, kind, keyword), value in zip(call_parameters, values, strict=False):
        if kind in ("ScalarType", "Device"):
            if value is not None:
                words[name] = value
        elif kind.startswith("Tensor") and not keyword and not named:
            tensors.append(value)
        else:
            named[name] = value
    single = {k: (v[0] if len(v) == 1 else None) if isinstance(v, list) and len(v) < 2 else v for k, v in named.items()}
    present = {k: v for k, v in single.items() if v is not None}
    keywords = {p[0] for p in call_parameters if p[2]}
    yield tensors, named | words
    yield [*tensors, *(v for k, v in named.items() if k not in keywords)], {
        **{k: v for k, v in named.items() if k in keywords}, **words}  # fmt: skip
    yield tensors, single | words
    yield tensors, present | words


def call(op, call_parameters, values):
    """The outputs, and where the function was found."""
    reasons = []
    names = [p[0] for p in call_parameters]
    # A loss of torch.nn.functional is not the builtin of that name, which takes the reduction as a number.
    places = sorted(PLACES.items(), key=lambda p: "reduction" in names and p[0] != "torch.nn.functional")
    space, _, short = op.partition("_")
    if f"torch.{space}" in ("torch.linalg", "torch.fft"):  # linalg_det is torch.linalg.det, not the method of that name
        places, op = [(f"torch.{space}", PLACES[f"torch.{space}"])], short
    for place, module in places:
        function = getattr(module, op, None)
        if not callable(function):
            continue
        for positional, keywords in forms(call_parameters, values):
            try:
                out = function(*positional, **keywords)
            except (TypeError, RuntimeError, IndexError, ValueError, NotImplementedError) as error:
                reasons.append(f"{place}.{op}: {str(error).splitlines()[0]}")
                continue
            out = list(out) if isinstance(out, (tuple, list)) else [out]
            if all(isinstance(t, torch.Tensor) for t in out):
                return out, f"{place}.{op}"
    raise Refused(reasons[0] if reasons else "torch has none")


def upstream(output, shape):
    n = int(np.prod(shape, dtype=np.int64))
    return torch.from_numpy(((5 * np.arange(n) + 3 * output) % 11 - 4.5) / 4).reshape(shape)


def gradient(op, signature, line, inputs, which, gradients):
    """The gradient of one input, None where it has none."""
    leaves = [t.detach().requires_grad_(k == which) if t.is_floating_point() else t for k, t in enumerate(inputs)]
    out, _ = call(op, parameters(signature), read_arguments(line, leaves))
    roots = [(j, t) for j, t in enumerate(out) if t.requires_grad]
    if not roots:
        return None
    roots = roots if gradients == "all" else roots[:1]
    seeds = [upstream(j, t.shape).to(t.dtype) for j, t in roots]
    return torch.autograd.grad([t for _, t in roots], leaves[which], seeds, allow_unused=True)[0]


def run_call(op, signature, line, inputs, gradients):
    """Outputs and gradients by name (out0, grad0 ...), why a gradient is missing, and the function that gave the outputs."""
    inputs = [t.double() if t.is_floating_point() else t.to(torch.complex128) if t.is_complex() else t for t in inputs]
    out, place = call(op, parameters(signature), read_arguments(line, inputs))
    results, missing = {f"out{j}": t for j, t in enumerate(out)}, {}
    floats = [k for k, t in enumerate(inputs) if t.is_floating_point() and gradients != "none"]
    for place_of_input, k in enumerate(floats):
        try:
            g = gradient(op, signature, line, inputs, k, gradients)
            if g is not None:
                results[f"grad{place_of_input}"] = g
        except (RuntimeError, NotImplementedError, Refused) as error:
            missing[f"grad{place_of_input}"] = str(error).splitlines()[0]
    return results, missing, place


def make(op, calls_file):
    inputs, metadata = load(calls_file)
    shared_name = metadata["signature"].split("(")[0].split(".")[0]  # max of max.dim
    stored, notes, places = {}, {"inputs": metadata["inputs"], "torch": torch.__version__.split("+")[0]}, set()
    lines = metadata["calls"].splitlines()
    for text in lines:
        key, line = text.split(" ", 1)
        tensors = [t for name, t in inputs.items() if name.startswith(f"{key}.in")]
        try:
            results, missing, place = run_call(
                shared_name, metadata["signature"], line, tensors, "none" if key.startswith("special") else metadata["gradients"]
            )
        except Refused as reason:
            notes[key] = str(reason)
            continue
        places.add(place)
        stored |= {f"{key}.{name}": t for name, t in results.items()}
        notes |= {f"{key}.{name}": reason for name, reason in missing.items()}
    if not places:
        notes = {"none": notes[lines[0].split(" ", 1)[0]] if lines else "no call takes float32 or int64"}
    elif any(key in notes for key in (text.split(" ", 1)[0] for text in lines)):
        refused = [f"{key} {notes[key]}" for key in (text.split(" ", 1)[0] for text in lines) if key in notes]
        print(f"{op}: PyTorch refuses {len(refused)} of {len(lines)} calls, the first: {refused[0]}")
    if places:
        notes["function"] = " ".join(sorted(places))
    save(HERE / f"{op}.safetensors", stored, notes)
    return notes


def write_calls(program, folder):
    """The suite's calls and their inputs, one file per op."""
    subprocess.run(
        [program, "--gtest_filter=op_suite_torch.write_calls", "--gtest_brief=1"],
        env=os.environ | {"DYADIC_TORCH_CALLS": str(folder)}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {path.stem: path for path in sorted(pathlib.Path(folder).glob("*.safetensors"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the test program (dyadic_tests)")
    parser.add_argument("ops", nargs="*", help="only these ops")
    arguments = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        files = write_calls(arguments.program, folder)
        unknown = [op for op in arguments.ops if op not in files]
        if unknown:
            sys.exit(f"the op suite has no repeatable calls of {', '.join(unknown)}")
        for op in arguments.ops or files:
            make(op, files[op])
    if not arguments.ops:
        for path in HERE.glob("*.safetensors"):
            if path.stem not in files:
                path.unlink()  # an op that is no more
    print(f"{len(arguments.ops or files)} files, {sum(p.stat().st_size for p in HERE.glob('*.safetensors')):,} bytes in all")


if __name__ == "__main__":
    main()
