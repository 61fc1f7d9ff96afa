"""torch.plan: training that fits, to the same bits."""

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.nn import functional as F


def make():
    return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 64))


def loss_of(model, batch):
    return F.mse_loss(model(batch), batch)


def train(plan=None, steps=3):
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batch = torch.randn(512, 64)
    for _ in range(steps):
        optimizer.zero_grad()
        if plan:
            with plan.recomputing():
                loss = loss_of(model, batch)
        else:
            loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def plan(**options):
    return torch.plan(make, torch.randn(512, 64), loss_of, **options)


def test_the_plan_that_fits_gives_the_same_bits_in_less_memory():
    free = plan()
    assert free.chosen.name == "as it is" and free.fits
    least = free.least()
    assert least < 0.9 * free.chosen.peak
    tight = plan(memory_limit=least)
    assert tight.chosen.exact and tight.chosen.repeated_calls > 0 and tight.chosen.peak == least
    for a, b in zip(train(), train(tight)):
        assert torch.equal(a, b)


def test_what_does_not_fit_names_the_least():
    least = plan().least()
    p = plan(memory_limit=least - 1)
    assert not p.fits
    with pytest.raises(torch.OutOfMemoryError, match=f"the least that training takes is {least} bytes"):
        p.chosen
    assert f"the least is {least} bytes" in str(p)
    assert plan(memory_limit=least - 1, allow="accumulation").chosen.accumulate > 1


def test_candidates_say_what_they_change():
    p = plan(memory_limit="1G", allow=["states"])
    assert all(c.allowed == (c.accumulate == 1) for c in p.candidates)
    assert any(not c.exact and c.allowed and c.states == torch.dynamic8 for c in p.candidates)
    seconds = [c.seconds for c in p.candidates]
    assert seconds == sorted(seconds)
    assert set(p.candidates[0].bytes) == {"parameters", "gradients", "optimizer", "activations", "workspace"}


def test_refusals():
    with pytest.raises(ValueError, match="not a number of bytes"):
        plan(memory_limit="much")
    with pytest.raises(ValueError, match="accumulation or states"):
        plan(allow="magic")
    with pytest.raises(ValueError, match="the limit is a number of bytes"):
        plan(memory_limit=-1)


def test_an_input_that_is_written_later_is_an_error_not_another_gradient():
    x = torch.randn(512, 64)
    p = torch.plan(make, x, lambda model, batch: model(batch * 2.0).square().mean())
    smallest = min((c for c in p.candidates if c.exact), key=lambda c: c.peak)
    p = torch.plan(make, x, lambda model, batch: model(batch * 2.0).square().mean(), memory_limit=smallest.peak)
    model = make()
    with p.recomputing():
        loss = model(x * 2.0).square().mean()
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()
