"""Writes resized.npz: images resized by PyTorch, bilinear and antialiased. Run with a Python that has torch."""
from pathlib import Path

import numpy as np
import torch

torch.manual_seed(0)
arrays = {}
for h, w, to_h, to_w in [(7, 11, 3, 4), (8, 8, 4, 8), (5, 6, 9, 13), (33, 20, 10, 7), (9, 4, 5, 5), (6, 6, 1, 1)]:
    image = torch.rand(2, h, w)
    name = f"{h}x{w}_{to_h}x{to_w}"
    resized = torch.nn.functional.interpolate(image[None], (to_h, to_w), mode="bilinear", antialias=True)[0]
    arrays[name + "_in"], arrays[name + "_out"] = image.numpy(), resized.numpy()
np.savez_compressed(Path(__file__).parent / "resized.npz", **arrays)
