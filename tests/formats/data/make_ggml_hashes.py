"""Writes ggml_hashes.txt: SHA-256 of what ggml's file writer (ggml_quantize_chunk, without an importance matrix) and its decoders
make of generated input (inputs: ggml_test.cpp).

    touch ggml-version.h
    echo "int ggml_backend_buffer_get_usage, ggml_backend_tensor_memset, ggml_backend_tensor_set;" > unused.c
    gcc -O2 -ffp-contract=off -DNDEBUG -D_GNU_SOURCE '-DGGML_VERSION=""' '-DGGML_COMMIT=""' -fPIC -shared -I . -I include -I src \
        -I src/ggml-cpu src/ggml.c src/ggml-quants.c src/ggml-threading.cpp unused.c -lm -lstdc++ -o reference.so
    python make_ggml_hashes.py reference.so

in ggml's folder (here that of llama-cpp-python 0.3.36): plain x86-64 without fused operations, so that each operation is the C code's.

Lines: `encode <format> <kind of input> <hash of the blocks>`, `decode <format> random <hash of the f32 values>`. q8_K, which no file
holds, is its reference function's. mxfp4 is not given blocks of less than 2^-125, whose scale C leaves undefined, nor scales of 255,
which are OCP's NaN; nor q2_0 those where 1 / d overflows, which makes C's conversion to int undefined.
"""
import ctypes
import hashlib
import pathlib
import sys

import numpy as np

N = 1 << 14  # elements of each input
SIZE = {  # format: (elements, bytes) of a block
    "q4_0": (32, 18), "q4_1": (32, 20), "q5_0": (32, 22), "q5_1": (32, 24), "q8_0": (32, 34), "iq4_nl": (32, 18),
    "mxfp4": (32, 17), "q2_K": (256, 84), "q3_K": (256, 110), "q4_K": (256, 144), "q5_K": (256, 176), "q6_K": (256, 210),
    "q8_K": (256, 292), "iq4_xs": (256, 136), "tq1_0": (256, 54), "tq2_0": (256, 66), "iq2_xxs": (256, 66),
    "iq2_xs": (256, 74), "iq2_s": (256, 82), "iq3_xxs": (256, 98), "iq3_s": (256, 110), "iq1_s": (256, 50), "iq1_m": (256, 56),
    "q1_0": (128, 18), "q2_0": (64, 18),
}
SCALE_AT = {"mxfp4": 0}  # the byte that mustn't be 255


def words(n, seed):
    """splitmix64."""
    z = np.uint64(seed) + (np.arange(n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def inputs():
    w = words(N, 1)
    i = np.arange(N)
    # Sums of four 16-bit numbers: nearly normal, deviation near 1, exact in f32.
    four = sum(((w >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.int64) for k in range(4))
    x = ((four - 131070) * 2.0**-15).astype(np.float32)
    uniform = (w >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    chance = words(N, 2) >> np.uint64(56)  # 0 .. 255
    kinds = {
        "normal": x,
        "uniform": uniform - np.float32(0.5),
        "positive": uniform + np.float32(0.5),
        "negative": -np.abs(x) - np.float32(0.125),
        "rectified": np.where(x > 0, x, np.where(chance < 128, np.float32(0.0), np.float32(-0.0))),
        "zeros": np.where(x > 0, np.float32(0.0), np.float32(-0.0)),
        "constant": np.where(i // 512 % 2 == 0, np.float32(0.7), np.float32(-0.7)),
        "outlier": np.where(i % 256 == 77, np.float32(1000), x * np.float32(2.0**-7)),
        "sparse": np.where(chance < 12, x, np.float32(0.0)),
        "integers": np.trunc(x * np.float32(4)),
        "mixed": np.ldexp(x, i // 32 % 61 - 40),
        "f16-subnormal": x * np.float32(2.0**-15),
        "small": x * np.float32(2.0**-55),
        "smallest": x * np.float32(2.0**-120),
        "subnormal": np.ldexp(x, -135),
        "large": x * np.float32(2.0**20),
        "squares-overflow": x * np.float32(2.0**80),
        "largest": x * np.float32(2.0**125),
    }
    return {k: np.ascontiguousarray(v, dtype="<f4") for k, v in kinds.items()}


WRITER = {  # ggml's numbers of the types that files hold
    "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_K": 10, "q3_K": 11, "q4_K": 12, "q5_K": 13, "q6_K": 14, "iq4_nl": 20,
    "iq4_xs": 23, "tq1_0": 34, "tq2_0": 35, "mxfp4": 39,
    "q1_0": 41, "q2_0": 42,
}
ROWS = 4


def encode(lib, name, x):
    size, width = SIZE[name]
    out = np.zeros(x.size // size * width, np.uint8)
    source, target = x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)
    if name not in WRITER:
        getattr(lib, f"quantize_row_{name}_ref")(source, target, ctypes.c_int64(x.size))
        return out
    lib.ggml_quantize_chunk.restype = ctypes.c_size_t
    got = lib.ggml_quantize_chunk(WRITER[name], source, target, ctypes.c_int64(0), ctypes.c_int64(ROWS),
                                  ctypes.c_int64(x.size // ROWS), None)
    assert got == out.size
    return out


def random_blocks(name):
    size, width = SIZE[name]
    out = (words(N // size * width, 3) >> np.uint64(56)).astype(np.uint8)
    if name in SCALE_AT:
        scale = out.reshape(-1, width)[:, SCALE_AT[name]]
        scale[scale == 255] = 254
    return out


def decode(lib, name, blocks):
    out = np.zeros(N, np.float32)
    getattr(lib, f"dequantize_row_{name}")(blocks.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
                                           ctypes.c_int64(N))
    bits = out.view(np.uint32)
    bits[np.isnan(out)] = 0x7FC00000  # a NaN's sign is nobody's promise
    return bits


lib = ctypes.CDLL(sys.argv[1])
lines = []
for name in SIZE:
    if not name.startswith(("iq1", "iq2", "iq3")):
        for kind, x in inputs().items():
            largest = np.abs(x).reshape(-1, 32).max(1)
            if name == "mxfp4" and np.any((largest > 0) & (largest < 2.0**-125)):
                continue
            if name == "q2_0" and kind == "subnormal":
                continue
            lines.append(f"encode {name} {kind} {hashlib.sha256(encode(lib, name, x).tobytes()).hexdigest()}")
    lines.append(f"decode {name} random {hashlib.sha256(decode(lib, name, random_blocks(name)).tobytes()).hexdigest()}")
(pathlib.Path(__file__).parent / "ggml_hashes.txt").write_text("\n".join(lines) + "\n")
