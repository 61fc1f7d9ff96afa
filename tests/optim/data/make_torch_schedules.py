"""Writes torch_schedules.txt: learning rates of PyTorch's schedulers over 30 steps, for test_lr_scheduler.py. Run with a Python
that has torch. A line is: an expression that makes the scheduler | momentum's option | rates | momenta.
"""
import math
import pathlib
import warnings

import torch
from torch.optim.lr_scheduler import *  # noqa: F403  the expressions name them

warnings.simplefilter("ignore")
CASES = [
    "LambdaLR(o, lambda e: 0.9**e)",
    "LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: 0.5 + e])",
    "MultiplicativeLR(o, lambda e: 0.95)",
    "StepLR(o, 3)",
    "StepLR(o, step_size=7, gamma=0.5)",
    "MultiStepLR(o, [2, 5, 5, 11], gamma=0.3)",
    "ConstantLR(o)",
    "ConstantLR(o, factor=0.25, total_iters=9)",
    "LinearLR(o)",
    "LinearLR(o, start_factor=0.1, end_factor=0.7, total_iters=12)",
    "ExponentialLR(o, 0.9)",
    "PolynomialLR(o, total_iters=10, power=2.0)",
    "PolynomialLR(o)",
    "CosineAnnealingLR(o, T_max=10)",
    "CosineAnnealingLR(o, 7, eta_min=0.01)",
    "CosineAnnealingWarmRestarts(o, 4)",
    "CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01)",
    "CyclicLR(o, 0.01, 0.2, step_size_up=4)",
    "CyclicLR(o, [0.01, 0.02], [0.2, 0.3], step_size_up=3, step_size_down=6, mode='triangular2')",
    "CyclicLR(o, 0.01, 0.2, step_size_up=4, mode='exp_range', gamma=0.9, base_momentum=0.5, max_momentum=0.7)",
    "CyclicLR(o, 0.01, 0.2, step_size_up=4, cycle_momentum=False, scale_fn=lambda c: 1 / c)",
    "OneCycleLR(o, 0.4, total_steps=31)",
    "OneCycleLR(o, [0.4, 0.6], epochs=8, steps_per_epoch=4, pct_start=0.25, anneal_strategy='linear', div_factor=10)",
    "OneCycleLR(o, 0.4, total_steps=40, three_phase=True, final_div_factor=100.0, base_momentum=0.6)",
    "SequentialLR(o, [LinearLR(o, 0.1, total_iters=4), CosineAnnealingLR(o, 10)], [5])",
    "SequentialLR(o, [ConstantLR(o, 0.5, 3), StepLR(o, 2), ExponentialLR(o, 0.8)], [4, 11])",
    "ChainedScheduler([ConstantLR(o, factor=0.1, total_iters=4), ExponentialLR(o, gamma=0.9)])",
]


def optimizer(kind):
    a, b = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.05}]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9) if kind == "momentum" else torch.optim.Adam(groups, lr=0.1)


def run(case, kind):
    o = optimizer(kind)
    s = eval(case, {**globals(), "o": o, "math": math})
    rates, momenta = [], []
    for _ in range(31):
        rates += [g["lr"] for g in o.param_groups]
        momenta += [g["momentum"] if kind == "momentum" else g["betas"][0] for g in o.param_groups]
        o.step()
        s.step()
    return rates, momenta


def text(values):
    return " ".join(f"{v:.12g}" for v in values)


def plateau(kwargs, metrics):
    o = optimizer("momentum")
    s = ReduceLROnPlateau(o, **kwargs)  # noqa: F405
    rates = []
    for m in metrics:
        s.step(m)
        rates += s.get_last_lr()
    return rates


PLATEAUS = [dict(patience=2), dict(mode="max", factor=0.5, patience=1, cooldown=2, threshold=0.05, threshold_mode="abs", min_lr=[0.01, 0.02])]
METRICS = [1.0, 0.8, 0.79, 0.8, 0.81, 0.79995, 0.7, 0.71, 0.9, 0.95, 1.1, 1.1, 1.0, 1.0, 1.0, 1.0, 0.2, 0.3, 0.3, 0.3, 0.3]
lines = []
for case in CASES:
    for kind in ("momentum", "betas"):
        rates, momenta = run(case, kind)
        lines.append(f"{case} | {kind} | {text(rates)} | {text(momenta)}")
lines += [f"plateau | {kwargs!r} | {text(plateau(kwargs, METRICS))} | {text(METRICS)}" for kwargs in PLATEAUS]

o = optimizer("momentum")
swalr = torch.optim.swa_utils.SWALR(o, swa_lr=0.02, anneal_epochs=6)
rates = []
for _ in range(10):
    rates += [g["lr"] for g in o.param_groups]
    o.step()
    swalr.step()
lines.append(f"SWALR(o, swa_lr=0.02, anneal_epochs=6) | momentum | {text(rates)} | ")
pathlib.Path(__file__).with_name("torch_schedules.txt").write_text("\n".join(lines) + "\n")
