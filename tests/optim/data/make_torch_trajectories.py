"""Writes torch_trajectories.txt: twenty steps of PyTorch's optimizers, and fifty of its schedulers, for trajectories_test.cpp and
test_optim.py. Run with a Python that has torch.

Optimizers: two parameters, a [4, 3] matrix and a vector of 5, whose gradients are made by formula, so that the test makes the
same ones: g = 0.3 p + 0.5 cos(0.7 i + 0.9 k), k the step from 0. One line per case:
  name | options as C++ reads them | the parameters after steps 1, 10 and 20
"""
import pathlib

import torch

torch.set_num_threads(1)
CASES = [
    ("SGD", dict(lr=0.1)),
    ("SGD", dict(lr=0.1, weight_decay=0.05, maximize=True)),
    ("SGD", dict(lr=0.1, momentum=0.9)),
    ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.07)),
    ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.07)),
    ("Adagrad", dict(lr=0.1)),
    ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.07, initial_accumulator_value=0.2, eps=1e-3)),
    ("RMSprop", dict(lr=0.01)),
    ("RMSprop", dict(lr=0.01, alpha=0.9, weight_decay=0.07, momentum=0.8)),
    ("RMSprop", dict(lr=0.01, alpha=0.9, centered=True, eps=1e-4)),
    ("RMSprop", dict(lr=0.01, alpha=0.9, centered=True, momentum=0.5, eps=1e-4, maximize=True)),
    ("Adam", dict(lr=0.05)),
    ("Adam", dict(lr=0.05, betas=(0.7, 0.95), weight_decay=0.07, eps=1e-4)),
    ("Adam", dict(lr=0.05, betas=(0.7, 0.8), amsgrad=True, weight_decay=0.07)),
    ("Adam", dict(lr=0.05, weight_decay=0.07, decoupled_weight_decay=True, maximize=True)),
    ("AdamW", dict(lr=0.05)),
    ("AdamW", dict(lr=0.05, betas=(0.7, 0.8), weight_decay=0.2, amsgrad=True)),
    ("AdamW", dict(lr=0.05, maximize=True)),
    ("Adamax", dict(lr=0.05)),
    ("Adamax", dict(lr=0.05, betas=(0.7, 0.8), weight_decay=0.07, eps=1e-3, maximize=True)),
    ("NAdam", dict(lr=0.05)),
    ("NAdam", dict(lr=0.05, betas=(0.7, 0.8), weight_decay=0.07, momentum_decay=0.1)),
    ("NAdam", dict(lr=0.05, weight_decay=0.07, decoupled_weight_decay=True)),
    ("RAdam", dict(lr=0.05)),
    ("RAdam", dict(lr=0.05, betas=(0.7, 0.8), weight_decay=0.07)),
    ("RAdam", dict(lr=0.05, weight_decay=0.07, decoupled_weight_decay=True, maximize=True)),
    ("Adadelta", dict(lr=1.0)),
    ("Adadelta", dict(lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.07)),
    ("Rprop", dict(lr=0.05)),
    ("Rprop", dict(lr=0.05, etas=(0.6, 1.5), step_sizes=(0.01, 0.1), maximize=True)),
    ("ASGD", dict(lr=0.1)),
    ("ASGD", dict(lr=0.1, lambd=0.05, alpha=0.5, t0=5, weight_decay=0.07)),
    ("Adafactor", dict(lr=0.1)),
    ("Adafactor", dict(lr=0.5, beta2_decay=-0.5, eps=(1e-5, 0.01), d=1.5, weight_decay=0.07)),
    ("Muon", dict(lr=0.05)),
    ("Muon", dict(lr=0.05, nesterov=False, momentum=0.5, weight_decay=0.2, adjust_lr_fn="match_rms_adamw")),
]
LBFGS = [dict(lr=0.5), dict(history_size=3, lr=0.8), dict(line_search_fn="strong_wolfe", history_size=5, max_iter=10)]


def text(v):
    if isinstance(v, tuple):
        return "(" + ", ".join(map(text, v)) + ")"
    return f'"{v}"' if isinstance(v, str) else str(v)


def start(n):
    return torch.tensor([((7 * i) % 11 - 5) / 4 for i in range(n)], dtype=torch.float64)


def row(values):
    return " ".join(f"{v:.12g}" for v in values)


def run(name, options):
    params = [torch.nn.Parameter(start(12).view(4, 3)), torch.nn.Parameter(start(5) + 0.25)]
    if name == "Muon":
        params = [torch.nn.Parameter(params[0].detach().float())]
    kwargs = {} if name in ("Adafactor", "Muon") else dict(foreach=False)
    optimizer = getattr(torch.optim, name)(params, **options, **kwargs)
    out = []
    for k in range(20):
        for p in params:
            i = torch.arange(p.numel(), dtype=torch.float64).view(p.shape)
            p.grad = (0.3 * p.detach() + 0.5 * torch.cos(0.7 * i + 0.9 * k)).to(p.dtype)
        optimizer.step()
        if k in (0, 9, 19):
            out += [x for p in params for x in p.detach().flatten().tolist()]
    return out


def rosenbrock(options):
    p = torch.nn.Parameter(torch.tensor([-1.5, 2.0, 0.5, -0.5], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([p], **options)

    def closure():
        optimizer.zero_grad()
        loss = (10 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
        loss.backward()
        return loss

    out = []
    for _ in range(3):
        out += [optimizer.step(closure).item(), *p.detach().tolist()]
    return out


def options_text(options):
    return ", ".join(f"{k}={text(v)}" for k, v in options.items())


lines = [f"{name} | {options_text(options)} | {row(run(name, options))}" for name, options in CASES]
lines += [f"LBFGS | {options_text(options)} | {row(rosenbrock(options))}" for options in LBFGS]
pathlib.Path(__file__).with_name("torch_trajectories.txt").write_text("\n".join(lines) + "\n")
