"""Writes formula_trajectories.txt: twenty steps of the optimizers that PyTorch does not have, each as its paper gives it, in numpy's
float64. Parameters, gradients and lines are those of make_torch_trajectories.py.
"""
import pathlib

import numpy as np


class Lion:
    """Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2."""

    def __init__(self, p, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        self.lr, self.betas, self.decay, self.m = lr, betas, weight_decay, np.zeros_like(p)

    def step(self, p, g):
        update = np.sign(self.betas[0] * self.m + (1 - self.betas[0]) * g)
        self.m = self.betas[1] * self.m + (1 - self.betas[1]) * g
        return p - self.lr * (update + self.decay * p)


class LAMB:
    """You et al. 2020, "Large Batch Optimization for Deep Learning", algorithm 2 with phi the identity."""

    def __init__(self, p, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, weight_decay
        self.m, self.v, self.t = np.zeros_like(p), np.zeros_like(p), 0

    def step(self, p, g):
        self.t += 1
        self.m = self.betas[0] * self.m + (1 - self.betas[0]) * g
        self.v = self.betas[1] * self.v + (1 - self.betas[1]) * g * g
        m, v = self.m / (1 - self.betas[0] ** self.t), self.v / (1 - self.betas[1] ** self.t)
        r = m / (np.sqrt(v) + self.eps) + self.decay * p
        return p - self.lr * np.linalg.norm(p) / np.linalg.norm(r) * r


class LARS:
    """You et al. 2017, "Large Batch Training of Convolutional Networks", algorithm 1; eps beside the norms."""

    def __init__(self, p, lr=1e-3, momentum=0.9, weight_decay=0.0, trust_coefficient=0.001, eps=1e-8):
        self.lr, self.momentum, self.decay, self.trust, self.eps = lr, momentum, weight_decay, trust_coefficient, eps
        self.v = np.zeros_like(p)

    def step(self, p, g):
        size = np.linalg.norm(p)
        local = self.trust * size / (np.linalg.norm(g) + self.decay * size + self.eps)
        self.v = self.momentum * self.v + self.lr * local * (g + self.decay * p)
        return p - self.v


class ScheduleFreeAdamW:
    """Defazio et al. 2024, "The Road Less Scheduled", algorithm 1 with Adam's bias correction of v; p is y, where gradients are taken.
    Averaging weights t^r max(lr)^weight_lr_power, as the authors' program has them."""

    def __init__(self, p, lr=2.5e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, warmup_steps=0, r=0.0, weight_lr_power=2.0):
        self.lr, self.betas, self.eps, self.decay, self.warmup = lr, betas, eps, weight_decay, warmup_steps
        self.r, self.power, self.largest, self.sum, self.t = r, weight_lr_power, 0.0, 0.0, 0
        self.x, self.z, self.v = p.copy(), p.copy(), np.zeros_like(p)

    def step(self, y, g):
        self.t += 1
        lr = self.lr * min(1, self.t / self.warmup) if self.warmup else self.lr
        self.largest = max(self.largest, lr)
        self.v = self.betas[1] * self.v + (1 - self.betas[1]) * g * g
        v = self.v / (1 - self.betas[1] ** self.t)
        self.z = self.z - lr * (g / (np.sqrt(v) + self.eps) + self.decay * y)
        weight = self.t**self.r * self.largest**self.power
        self.sum += weight
        self.x = self.x + weight / self.sum * (self.z - self.x)
        return (1 - self.betas[0]) * self.z + self.betas[0] * self.x


CASES = [
    (Lion, dict(lr=0.02)),
    (Lion, dict(lr=0.01, betas=(0.8, 0.95), weight_decay=0.3)),
    (LAMB, dict(lr=0.05)),
    (LAMB, dict(lr=0.02, betas=(0.7, 0.9), eps=1e-3, weight_decay=0.2)),
    (LARS, dict(lr=1.0, trust_coefficient=0.05)),
    (LARS, dict(lr=0.5, momentum=0.6, weight_decay=0.1, trust_coefficient=0.1)),
    (ScheduleFreeAdamW, dict(lr=0.05)),
    (ScheduleFreeAdamW, dict(lr=0.05, betas=(0.8, 0.95), weight_decay=0.1, warmup_steps=5, r=0.5)),
]


def start(n):
    return np.array([((7 * i) % 11 - 5) / 4 for i in range(n)])


def run(kind, options):
    params = [start(12).reshape(4, 3), start(5) + 0.25]
    optimizers = [kind(p, **options) for p in params]
    out = []
    for k in range(20):
        for j, optimizer in enumerate(optimizers):
            i = np.arange(params[j].size, dtype=np.float64).reshape(params[j].shape)
            params[j] = optimizer.step(params[j], 0.3 * params[j] + 0.5 * np.cos(0.7 * i + 0.9 * k))
        if k in (0, 9, 19):
            out += [x for p in params for x in p.ravel()]
    return " ".join(f"{v:.12g}" for v in out)


def text(options):
    def value(v):
        return "(" + ", ".join(map(value, v)) + ")" if isinstance(v, tuple) else str(v)

    return ", ".join(f"{k}={value(v)}" for k, v in options.items())


lines = [f"{kind.__name__} | {text(options)} | {run(kind, options)}" for kind, options in CASES]
pathlib.Path(__file__).with_name("formula_trajectories.txt").write_text("\n".join(lines) + "\n")
