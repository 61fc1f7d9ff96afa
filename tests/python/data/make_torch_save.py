"""torch_save.pt as PyTorch writes it: python make_torch_save.py"""
from pathlib import Path

import torch

w = torch.arange(6.0).view(2, 3).t()
torch.save(
    {"step": 3, "list": [True, None], "w": w, "row": w[0], "half": torch.tensor([1.0, 2.0], dtype=torch.bfloat16), "p": torch.nn.Parameter(torch.ones(2))},
    Path(__file__).parent / "torch_save.pt",
)
