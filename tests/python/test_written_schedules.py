"""Schedules as they are written for PyTorch, and what they read and set of others; rates are PyTorch's."""
import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.optim import lr_scheduler as L


def optimizer_at(lr, **options):
    p = nn.Parameter(dy.ones(1))
    p.grad = dy.ones(1)
    return optim.SGD([{"params": [p], **options}], lr=lr, momentum=0.9)


class GradualWarmup(L._LRScheduler):
    def __init__(self, optimizer, multiplier, total_epoch, after_scheduler=None):
        self.multiplier, self.total_epoch, self.after_scheduler = multiplier, total_epoch, after_scheduler
        self.finished = False
        super().__init__(optimizer)

    def get_lr(self):
        if self.last_epoch > self.total_epoch:
            if self.after_scheduler:
                if not self.finished:
                    self.after_scheduler.base_lrs = [base_lr * self.multiplier for base_lr in self.base_lrs]
                    self.finished = True
                return self.after_scheduler.get_last_lr()
            return [base_lr * self.multiplier for base_lr in self.base_lrs]
        if self.multiplier == 1.0:
            return [base_lr * (float(self.last_epoch) / self.total_epoch) for base_lr in self.base_lrs]
        return [base_lr * ((self.multiplier - 1.0) * self.last_epoch / self.total_epoch + 1.0) for base_lr in self.base_lrs]

    def step_plateau(self, metrics, epoch=None):
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_epoch = epoch if epoch != 0 else 1
        if self.last_epoch <= self.total_epoch:
            for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
                group["lr"] = lr
        else:
            self.after_scheduler.step(metrics, epoch - self.total_epoch)

    def step(self, epoch=None, metrics=None):
        if type(self.after_scheduler) is L.ReduceLROnPlateau:
            self.step_plateau(metrics, epoch)
        elif self.finished and self.after_scheduler:
            self.after_scheduler.step(None if epoch is None else epoch - self.total_epoch)
            self._last_lr = self.after_scheduler.get_last_lr()
        else:
            super().step(epoch)


AFTER = {
    "step": (lambda o: L.StepLR(o, 2, 0.1), [0.275, 0.45, 0.625, 0.8, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0001]),
    "plateau": (lambda o: L.ReduceLROnPlateau(o, patience=1), [0.275, 0.45, 0.625, 0.8, 0.8, 0.8, 0.08, 0.08, 0.008, 0.008, 0.0008]),
    "cosine": (
        lambda o: L.CosineAnnealingLR(o, 10),
        [0.275, 0.45, 0.625, 0.8, 0.1, 0.09755283, 0.09045085, 0.07938926, 0.06545085, 0.05, 0.03454915],
    ),
    "nothing": (lambda o: None, [0.275, 0.45, 0.625] + [0.8] * 8),
}


@pytest.mark.parametrize("after", AFTER)
def test_gradual_warmup(after):
    make, want = AFTER[after]
    optimizer = optimizer_at(0.1)
    schedule, rates = GradualWarmup(optimizer, multiplier=8.0, total_epoch=4, after_scheduler=make(optimizer)), []
    optimizer.step()
    for epoch in range(1, 12):
        schedule.step(*((epoch, 1.0) if after == "plateau" else ()))
        rates.append(optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(rates, want, rtol=1e-6)
    if after != "plateau":
        assert schedule.get_last_lr() == rates[-1:]


class Halving(L.LRScheduler):
    def __init__(self, optimizer):
        self.last_epoch = -1
        super().__init__(optimizer)

    def get_lr(self):
        for group in self.optimizer.param_groups:
            group["momentum"] = 0.5 + 0.1 * self.last_epoch
        return [base * 0.5**self.last_epoch for base in self.base_lrs]


def test_get_lr_may_set_other_options():
    optimizer = optimizer_at(0.1)
    schedule = Halving(optimizer)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["momentum"] == 0.6 and optimizer.param_groups[0]["lr"] == 0.05


def test_a_step_of_ones_own_sets_rates():
    class Written(Halving):
        def step(self, epoch=None):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
                group["lr"] = lr
            self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    optimizer = optimizer_at(0.1)
    schedule = Written(optimizer)
    optimizer.step()
    schedule.step()
    schedule.step(5)
    assert schedule.last_epoch == 5 and schedule.get_last_lr() == [0.003125] == [optimizer.param_groups[0]["lr"]]


SCHEDULES = [  # rates after get_lr() at once, get_lr() after a step, a step; and of those that go on at 3: the first, the next
    (lambda o, **k: L.StepLR(o, 2, **k), [0.1, 0.1, 0.1], [0.008, 0.008]),
    (lambda o, **k: L.ExponentialLR(o, 0.5, **k), [0.05, 0.025, 0.05], [0.08, 0.04]),
    (lambda o, **k: L.LinearLR(o, 0.5, total_iters=8, **k), [0.025, 0.06328125, 0.05625], [0.08, 0.08666667]),
    (lambda o, **k: L.PolynomialLR(o, 8, 2.0, **k), [0.07901235, 0.05861816, 0.0765625], [0.08, 0.045]),
    (lambda o, **k: L.MultiplicativeLR(o, lambda e: 0.5, **k), [0.05, 0.025, 0.05], [0.08, 0.04]),
    (lambda o, **k: L.LambdaLR(o, lambda e: 0.5**e, **k), [0.1, 0.05, 0.05], [0.00625, 0.003125]),
]


@pytest.mark.parametrize("make, begun, resumed", SCHEDULES)
def test_get_lr_and_going_on(make, begun, resumed):
    optimizer = optimizer_at(0.1)
    schedule = make(optimizer)
    rates = schedule.get_lr()
    optimizer.step()
    schedule.step()
    rates += schedule.get_lr() + [optimizer.param_groups[0]["lr"]]
    np.testing.assert_allclose(rates, begun, rtol=1e-6)
    optimizer = optimizer_at(0.08, initial_lr=0.1)
    schedule = make(optimizer, last_epoch=3)
    rates = schedule.get_last_lr()
    optimizer.step()
    schedule.step()
    np.testing.assert_allclose(rates + schedule.get_last_lr(), resumed, rtol=1e-6)
    assert schedule.last_epoch == 5


def test_base_rates_are_set():
    optimizer = optimizer_at(0.1)
    schedule = L.LambdaLR(optimizer, lambda e: 0.5**e)
    schedule.base_lrs = [1.0]
    optimizer.step()
    schedule.step()
    assert schedule.base_lrs == [1.0] and optimizer.param_groups[0]["lr"] == 0.5


def test_momentum_of_an_optimizer_of_ones_own_cycles():
    class Still(optim.Optimizer):
        def step(self):
            pass

    optimizer = Still([nn.Parameter(dy.ones(1))], {"lr": 0.5, "momentum": 0.9})
    schedule = L.CyclicLR(optimizer, 0.1, 0.2, 2)
    optimizer.step()
    schedule.step()
    group = optimizer.param_groups[0]
    np.testing.assert_allclose((group["lr"], group["momentum"]), (0.15, 0.85), rtol=1e-12)


def test_factors_stay_readable():
    optimizer = optim.SGD([{"params": [nn.Parameter(dy.ones(1))]}, {"params": [nn.Parameter(dy.ones(1))]}], lr=1.0)

    def half(epoch):
        return 0.5**epoch

    assert L.LambdaLR(optimizer, half).lr_lambdas == [half, half]
