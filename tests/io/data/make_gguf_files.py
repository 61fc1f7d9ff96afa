"""Writes the .gguf files of this folder with the package gguf (0.19.0), the reference in Python: `python make_gguf_files.py`.

types.gguf     every type of tensors that the package knows: random blocks [2, 256], and beside each "<type>.values", what its
               dequantize makes of them (Q8_K and Q1_0 it cannot dequantize: no values)
metadata.gguf  every type of values, arrays of each and of arrays; alignment 64; tensors of 0 to 4 dimensions
split-*.gguf   three parts
"""
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFValueType as V
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(1)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def values_of(blocks, t):
    with np.errstate(all="ignore"):
        return dequantize(blocks, t).astype(np.float32)


def random_blocks(t, rows=2, cols=256):
    """Each block is drawn until its values are numbers of a moderate size."""
    elements, width = GGML_QUANT_SIZES[t]
    out = rng.integers(0, 256, (rows * cols // elements, width), dtype=np.uint8)
    if t in (Q.Q8_K, Q.Q1_0):
        return out.reshape(rows, -1)
    for i in range(len(out)):
        while True:
            v = values_of(out[i:i + 1], t)
            if np.all(np.isfinite(v)) and np.abs(v).max() < 1e4 and (t != Q.NVFP4 or out[i, :4].max() < 127):
                break
            out[i] = rng.integers(0, 256, width, dtype=np.uint8)
            if t == Q.NVFP4:
                out[i, :4] &= 127
    return out.reshape(rows, -1)


def types():
    w = GGUFWriter(HERE / "types.gguf", "none")
    for t in Q:
        if t == Q.Q8_1:
            continue
        name = t.name
        plain = {Q.F32: np.float32, Q.F16: np.float16, Q.F64: np.float64, Q.I8: np.int8, Q.I16: np.int16, Q.I32: np.int32,
                 Q.I64: np.int64}
        if t in plain:
            x = rng.normal(0, 40, (2, 256)).astype(plain[t])
            w.add_tensor(name, x)
            w.add_tensor(name + ".values", x.astype(np.float32))
        else:
            x = random_blocks(t)
            w.add_tensor(name, x, raw_dtype=t)
            if t not in (Q.Q8_K, Q.Q1_0):
                w.add_tensor(name + ".values", values_of(x, t))
    finish(w)


def metadata():
    w = GGUFWriter(HERE / "metadata.gguf", "none")
    w.add_custom_alignment(64)
    numbers = {
        "u8": (V.UINT8, [0, 7, 255]), "i8": (V.INT8, [-128, -1, 127]), "u16": (V.UINT16, [0, 65535]),
        "i16": (V.INT16, [-32768, 32767]), "u32": (V.UINT32, [0, 2**32 - 1]), "i32": (V.INT32, [-2**31, 2**31 - 1]),
        "f32": (V.FLOAT32, [0.1, -3.4e38, float("inf")]), "bool": (V.BOOL, [True, False, True]),
        "string": (V.STRING, ["", "é", "a longer text with a \n line"]), "u64": (V.UINT64, [0, 2**64 - 1]),
        "i64": (V.INT64, [-2**63, 2**63 - 1]), "f64": (V.FLOAT64, [0.1, 1e300]),
    }
    for name, (t, values) in numbers.items():
        w.add_key_value("value." + name, values[-1], t)
        w.add_key_value("array." + name, values, V.ARRAY, t)
    w.add_key_value("nested", [[1, 2, 3], ["x", "yz"]], V.ARRAY)
    w.add_key_value("tokens", [f"token {i}" for i in range(300)], V.ARRAY, V.STRING)
    w.add_tensor("scalar", np.array(2.5, np.float32))
    w.add_tensor("line", np.arange(5, dtype=np.int16))
    w.add_tensor("four", np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5))
    w.add_tensor("empty", np.zeros((0, 3), np.float32))
    finish(w)


def split():
    w = GGUFWriter(HERE / "split.gguf", "none", split_max_size=100)
    w.add_string("general.name", "in three parts")
    for i in range(5):
        w.add_tensor(f"t{i}", np.arange(8 * (i + 1), dtype=np.float16))
    finish(w)


types()
metadata()
split()
