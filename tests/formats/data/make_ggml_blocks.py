"""Writes ggml_blocks.bin: inputs and the bytes that the `gguf` package (PyPI, 0.19.0) makes of them.

    pip install gguf && python make_ggml_blocks.py

Layout, little endian: 96 blocks of 32 f32 values; their q8_0 blocks (34 bytes each); their q4_0 blocks (18 bytes each).
"""
import pathlib

import numpy as np
from gguf import GGMLQuantizationType, quants

BLOCKS = 96

rng = np.random.default_rng(20)
x = rng.standard_normal((BLOCKS, 32)).astype(np.float32)
x[:64] *= np.exp(rng.uniform(-12, 8, (64, 1))).astype(np.float32)
x[64] = 0
x[65] = np.arange(-16, 16)  # the largest magnitude is negative; halves of steps
x[66] = np.arange(32) - 15.5  # +15.5 before and after -15.5 in magnitude
x[67, 1:] = 0
x[68] = np.where(np.arange(32) % 2, 1, -1)  # equal magnitudes: the first decides q4_0's sign
x[69] = np.float32(127) * np.sign(x[69])
x[70] = np.linspace(-127, 127, 32).astype(np.float32) + 0.5  # codes near halves
x[70, 0] = 127
x[71] = 1e-7 * x[71]  # d is subnormal in f16
x[72] = 1e-10 * x[72]  # d underflows in f16
x[73] = 6e4 * np.sign(x[73])
x[74] = np.float32(-0.0)

out = x.astype("<f4").tobytes()
out += quants.quantize(x, GGMLQuantizationType.Q8_0).tobytes()
out += quants.quantize(x, GGMLQuantizationType.Q4_0).tobytes()
(pathlib.Path(__file__).parent / "ggml_blocks.bin").write_bytes(out)
