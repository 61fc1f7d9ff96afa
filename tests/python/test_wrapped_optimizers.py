"""Optimizers around others, as they are written for PyTorch: SAM, Lookahead, wrappers without super().__init__(). Values are PyTorch's."""
import collections
import copy

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim


class SAM(optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @dy.no_grad()
    def first_step(self):
        norms = [p.grad.norm(p=2) for group in self.param_groups for p in group["params"]]
        norm = dy.norm(dy.stack(norms), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        self.zero_grad()

    @dy.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()

    @dy.no_grad()
    def step(self, closure):
        closure = dy.enable_grad()(closure)
        self.first_step()
        closure()
        self.second_step()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


@pytest.mark.parametrize(
    "base, options, weight, bias",
    [
        (optim.SGD, {"momentum": 0.9}, [-0.68216, -0.26027, 0.16162, -0.16898, 0.19647, 0.56191], [0.74075, -0.88013]),
        (optim.AdamW, {}, [-0.88901, -0.48957, -0.09013, 0.08952, 0.48913, 0.88873], [0.60757, -0.60916]),
    ],
)
def test_sam(base, options, weight, bias):
    w = nn.Parameter(dy.linspace(-1, 1, 6).reshape(2, 3).clone())
    b = nn.Parameter(dy.tensor([0.5, -0.5]))
    x = dy.linspace(0, 1, 12).reshape(4, 3)
    optimizer = SAM([w, b], base, rho=0.1, lr=0.05, **options)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2)

    def closure():
        loss = ((x @ w.t() + b) ** 2).sum()
        loss.backward()
        return loss

    for i in range(6):
        closure()
        optimizer.step(closure)
        if i < 4:
            optimizer.zero_grad()
            schedule.step()
        if i == 4:
            optimizer.zero_grad()
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    np.testing.assert_allclose(w.detach().flatten().tolist(), weight, atol=6e-6)
    np.testing.assert_allclose(b.tolist(), bias, atol=6e-6)
    assert optimizer.param_groups is optimizer.base_optimizer.param_groups and optimizer.defaults["rho"] == 0.1
    assert abs(optimizer.param_groups[0]["lr"] - 0.0005) < 1e-12 and "weight_decay" in optimizer.defaults


class Lookahead(optim.Optimizer):
    def __init__(self, optimizer, k=2, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups, self.defaults = optimizer.param_groups, optimizer.defaults
        self.state = collections.defaultdict(dict)
        for group in self.param_groups:
            group["counter"] = 0

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.param_groups:
            for fast in group["params"] if group["counter"] == 0 else ():
                slow = self.state[fast].setdefault("slow", fast.data.clone())
                slow += (fast.data - slow) * self.alpha
                fast.data.copy_(slow)
            group["counter"] = (group["counter"] + 1) % self.k
        return loss

    def add_param_group(self, group):
        group["counter"] = 0
        self.optimizer.add_param_group(group)


def test_lookahead():
    p, q = nn.Parameter(dy.tensor([1.0, 2])), nn.Parameter(dy.tensor([3.0]))
    optimizer = Lookahead(optim.Adam([p], lr=0.1))
    for i in range(5):
        p.grad = dy.tensor([1.0, 2 + i])
        optimizer.step()
        optimizer.zero_grad()
        assert p.grad is None
    optimizer.add_param_group({"params": q})
    p.grad, q.grad = dy.ones(2), dy.ones(1)
    optimizer.step()
    np.testing.assert_allclose([*p.tolist(), *q.tolist()], [0.6, 1.61162, 2.9], atol=6e-6)


def test_wrappers_share_groups_and_states():
    class Wrapper(optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups, self.state, self.defaults = inner, inner.param_groups, inner.state, inner.defaults

        def step(self, closure=None):
            return self.inner.step(closure)

    p = nn.Parameter(dy.tensor([1.0, 2]))
    wrapper = Wrapper(optim.Adam([p], lr=0.1))
    schedule = optim.lr_scheduler.ExponentialLR(wrapper, 0.5)
    for _ in range(3):
        p.grad = dy.tensor([1.0, 2])
        wrapper.step()
        schedule.step()
    np.testing.assert_allclose(p.tolist(), [0.825, 1.825], rtol=1e-6)
    assert wrapper.inner.param_groups[0]["lr"] == 0.0125 and wrapper.state[p]["step"] == 3


def test_wrappers_with_properties():
    class Wrapper(optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        param_groups = property(lambda self: self.inner.param_groups)
        state = property(lambda self: self.inner.state)

        def step(self, closure=None):
            return self.inner.step(closure)

    p = nn.Parameter(dy.tensor([1.0]))
    p.grad = dy.ones(1)
    wrapper = Wrapper(optim.SGD([p], lr=0.5))
    wrapper.step()
    wrapper.zero_grad()
    assert p.item() == 0.5 and p.grad is None and wrapper.steps == 1


def test_groups_of_another_optimizer():
    p = nn.Parameter(dy.ones(1))
    a = optim.SGD([p], lr=0.1, momentum=0.9)
    b = optim.Adam(a.param_groups)
    p.grad = dy.ones(1)
    b.step()
    a.param_groups[0]["lr"] = 0.5
    b.step()
    assert abs(p.item() - 0.4) < 1e-6 and b.param_groups[0] is a.param_groups[0] and b.param_groups[0]["momentum"] == 0.9
    assert optim.Adam([dict(a.param_groups[0])]).param_groups[0]["lr"] == 0.5


def test_a_step_of_ones_own_in_a_class_of_the_library():
    class Mean(optim.Adam):
        @dy.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state.update(step=0, exp_avg=dy.zeros_like(p), note="x")
                    state["step"] += 1
                    state["exp_avg"].mul_(group["betas"][0]).add_(p.grad, alpha=1 - group["betas"][0])
                    p.add_(state["exp_avg"], alpha=-group["lr"])

    p = nn.Parameter(dy.tensor([1.0, 2]))
    p.grad = dy.ones(2)
    optimizer = Mean([p], lr=0.1)
    optimizer.step()
    optimizer.step()
    np.testing.assert_allclose(p.tolist(), [0.971, 1.971], rtol=1e-6)
    assert optimizer.state[p]["step"] == 2 and set(optimizer.state_dict()["state"][0]) == {"step", "exp_avg", "note"}
