#!/usr/bin/env python3
"""Makes small_floats.bin and small_floats.txt: what ml_dtypes and PyTorch make of floats of 8 bits and fewer.

small_floats.bin: for each format of FORMATS in order, the f32 value of each of its codes (NaNs as 0x7fc00000).
small_floats.txt: lines "format rule set sha256": the codes, a byte each, of encoding a set of f32 bit patterns. Rule `standard` is
PyTorch's conversion where it has the dtype, else ml_dtypes'; `special` is ml_dtypes' (overflow gives infinity or NaN). Sets:
`upper-XXXX` is every upper half with that lower half, `random` ten million patterns of splitmix64.
Needs numpy, ml_dtypes 0.6 and torch 2.15.
"""
import hashlib
from pathlib import Path

import ml_dtypes
import numpy as np
import torch

FORMATS = {"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
           "f8e3m4": "float8_e3m4", "f8e8m0fnu": "float8_e8m0fnu", "f6e2m3fn": "float6_e2m3fn", "f6e3m2fn": "float6_e3m2fn",
           "f4e2m1fn": "float4_e2m1fn"}
HERE = Path(__file__).parent


def splitmix64(n):
    x = (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def sets():
    upper = np.arange(65536, dtype=np.uint32) << np.uint32(16)
    for lower in (0x0000, 0x0001, 0x7FFF, 0x8000, 0xFFFF):
        yield f"upper-{lower:04x}", upper | np.uint32(lower)
    yield "random", splitmix64(10_000_000)


def by_ml_dtypes(name, bits):
    codes = bits.view(np.float32).astype(getattr(ml_dtypes, FORMATS[name])).view(np.uint8)
    if name == "f8e5m2":  # PyTorch writes NaN as 7f, ml_dtypes as 7e
        codes = np.where(codes & 0x7F == 0x7E, codes | 1, codes)
    return codes


def by_torch(name, bits):
    x = torch.from_numpy(bits.view(np.float32).copy())
    return x.to(getattr(torch, FORMATS[name])).view(torch.uint8).numpy()


def main():
    tables, lines = [], []
    for name, long_name in FORMATS.items():
        kind = getattr(ml_dtypes, long_name)
        count = 1 << ml_dtypes.finfo(kind).bits
        values = np.arange(count, dtype=np.uint8).view(kind).astype(np.float32)
        values = np.where(np.isnan(values), np.float32("nan"), values)
        bits = values.view(np.uint32)
        bits[np.isnan(values)] = 0x7FC00000
        tables.append(bits.tobytes())
        for label, patterns in sets():
            with np.errstate(all="ignore"):
                rules = {"standard": by_torch if hasattr(torch, long_name) else by_ml_dtypes}
                if name != "f8e8m0fnu":  # ml_dtypes makes NaN of negative powers
                    rules["special"] = by_ml_dtypes
                for rule, encode in rules.items():
                    lines.append(f"{name} {rule} {label} {hashlib.sha256(encode(name, patterns).tobytes()).hexdigest()}")
    (HERE / "small_floats.bin").write_bytes(b"".join(tables))
    (HERE / "small_floats.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
