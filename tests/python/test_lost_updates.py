"""What rounding does to the steps of 16-bit parameters: the warning, and the rest that is kept for the next step."""
import subprocess
import sys

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim


def test_lost_updates_warn_once():
    code = """
import dyadic as dy
p, q = (dy.nn.Parameter(dy.ones(10, dtype=d)) for d in ("f32", "bf16"))
o = dy.optim.SGD([{"params": [p]}, {"params": [q]}], lr=1e-4)
for step in range(30):
    p.grad, q.grad = dy.ones(10), dy.ones(10, dtype="bf16")
    o.step()
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.splitlines()
    said = [line for line in said if "UserWarning" in line]
    assert len(said) == 1 and "group 1" in said[0] and "bf16" in said[0] and "stochastic_rounding=True" in said[0]


@pytest.mark.parametrize("name", ["SGD", "Adam", "Lion", "LAMB", "Muon"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_compensated_rounding(name, dtype):
    """Parameter and rest are an f32 master: bit for bit what f32 parameters become. In the parameter's own dtype they come close."""

    def trained(dtype, **options):
        dy.manual_seed(1)
        p = nn.Parameter((dy.randn(40, 30) * 16).round().div(16).to(dtype))
        optimizer = getattr(optim, name)([("p", p)], lr=1e-5, weight_decay=0.1, **options)
        for _ in range(30):
            p.grad = (dy.randn(40, 30) * 8 + 4).round().div(8).to(dtype)
            optimizer.step()
        rest = optimizer.state[p].get("compensation")
        total = p.detach().float() + (0 if rest is None else rest.float().reshape(40, 30))
        return total.numpy(), rest, optimizer

    want, rest, _ = trained("f32", compensation="f32")
    assert rest is None  # f32 leaves nothing
    master, rest, optimizer = trained(dtype, compensation="f32")
    assert rest.dtype is dy.float32 and optimizer.lost_updates() < 0.05
    np.testing.assert_array_equal(master, want)
    kahan, rest, _ = trained(dtype, compensation="kahan")
    plain = trained(dtype)[0]
    assert rest.dtype is dy.dtype(dtype)
    assert "compensation" in getattr(optim, name).__doc__
    assert np.abs(kahan - want).max() < 0.05 * np.abs(plain - want).max()  # eight bits more, less 30 roundings of them


def test_compensation_is_resumed_and_refused():
    def make():
        p = nn.Parameter(dy.ones(10, dtype="bf16"))
        return p, optim.AdamW([("p", p)], lr=1e-4, compensation="kahan")

    p, optimizer = make()
    q, other = make()
    for step in range(20):
        if step == 10:
            other.load_state_dict(optimizer.state_dict())
            q.data.copy_(p.detach())
        for a, b in ((p, optimizer), (q, other))[: 1 + (step >= 10)]:
            a.grad = dy.full((10,), 0.5 + step, dtype="bf16")
            b.step()
    assert (p == q).all() and not (p == 1).all()
    with pytest.raises(ValueError, match="it is kahan"):
        optim.SGD([p], compensation="f64")
    with pytest.raises(ValueError, match="choose one"):
        optim.SGD([p], compensation="f32", stochastic_rounding=True)
