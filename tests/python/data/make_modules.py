"""What PyTorch computes for the cases of modules_cases.py: states, results and gradients, computed in float64 and stored in float32, as modules.npz.

    python make_modules.py     # needs torch; the tests need only its result
"""
import json
from pathlib import Path

import numpy as np
import torch
from modules_cases import CASES, float_results, inputs_of, mode_of
from torch import nn

arrays = {}
for name, case in CASES.items():
    torch.manual_seed(len(arrays))
    m = eval(case["make"], {"nn": nn}).double()
    with torch.no_grad():  # zero biases would hide where they are added
        for p in m.parameters():
            p.copy_(torch.round(p * 16 + torch.randn_like(p)) / 16)
    getattr(m, mode_of(case))()
    x = {k: torch.from_numpy(v) for k, v in inputs_of(case).items()}
    for v in x.values():
        v.requires_grad_(v.is_floating_point())
    outputs = float_results(eval(case["call"], {"m": m, "nn": nn, **x}))
    sum((o**2).sum() for o in outputs).backward()
    for key, v in m.state_dict().items():
        arrays[f"{name}/state/{key}"] = v.numpy()
    for i, o in enumerate(outputs):
        arrays[f"{name}/out/{i}"] = o.detach().numpy()
    for key, p in [*m.named_parameters(), *((k, v) for k, v in x.items() if v.requires_grad)]:
        if p.grad is not None:
            arrays[f"{name}/grad/{key}"] = p.grad.numpy()
assert all(np.isfinite(a).all() for a in arrays.values())
shapes = json.dumps({name: a.shape for name, a in arrays.items()})
values = np.concatenate([a.ravel() for a in arrays.values()]).astype(np.float32)
np.savez_compressed(Path(__file__).with_name("modules.npz"), shapes=shapes, values=values)
