#!/usr/bin/env python3
"""Stores in which dtype PyTorch's autocast runs the calls of the op suite: autocast.txt, beside this script.

    make_autocast.py build/release/bin/dyadic_tests

Each op's first call that PyTorch takes runs under torch.autocast with bfloat16, once with its floating inputs in float32 and once
in bfloat16: on the CPU, and with fake tensors of a GPU (shapes and dtypes alone; no GPU is needed). A line is
  op | CPU from float32 | CPU from bfloat16 | GPU from float32 | GPU from bfloat16
with the dtype of the first floating result; - where PyTorch refuses the call or no result is a floating one. Ops that PyTorch does
not have, and ops without floating inputs, are left out.
"""
import argparse
import pathlib
import tempfile

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import make_torch_values as suite

NAMES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}
SKIPPED = {"to"}  # a conversion names its result


def result_of(op, signature, line, inputs):
    try:
        out, _ = suite.call(op, suite.parameters(signature), suite.read_arguments(line, inputs))
    except suite.Refused:
        return "-"
    return next((NAMES[t.dtype] for t in out if t.dtype in NAMES), "-")


def on_cpu(op, signature, line, inputs, dtype):
    inputs = [t.to(dtype) if t.is_floating_point() else t for t in inputs]
    with torch.autocast("cpu", torch.bfloat16):
        return result_of(op, signature, line, inputs)


def on_gpu(op, signature, line, inputs, dtype):
    with FakeTensorMode():
        inputs = [torch.empty(t.shape, dtype=dtype if t.is_floating_point() else t.dtype, device="cuda") for t in inputs]
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            return result_of(op, signature, line, inputs)
        finally:
            torch.set_autocast_enabled("cuda", False)


def results(op, path):
    inputs, metadata = suite.load(path)
    name = metadata["signature"].split("(")[0].split(".")[0]
    for text in metadata["calls"].splitlines():
        key, line = text.split(" ", 1)
        tensors = [t for stored, t in inputs.items() if stored.startswith(f"{key}.in")]
        if not any(t.is_floating_point() for t in tensors) or key.startswith("special"):
            continue
        found = [run(name, metadata["signature"], line, tensors, d) for run in (on_cpu, on_gpu) for d in (torch.float32, torch.bfloat16)]
        if any(r != "-" for r in found):
            return found
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the test program (dyadic_tests)")
    lines = [f"# op | CPU from f32 | CPU from bf16 | GPU from f32 | GPU from bf16; PyTorch {torch.__version__.split('+')[0]}"]
    with tempfile.TemporaryDirectory() as folder:
        for op, path in suite.write_calls(parser.parse_args().program, folder).items():
            found = results(op, path) if op not in SKIPPED else None
            if found:
                lines.append(" | ".join([op, *found]))
    pathlib.Path(__file__).with_name("autocast.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 1} ops")


main()
