"""Schedules of learning rates against PyTorch's stored rates (tests/optim/data/make_torch_schedules.py)."""
import math
import pathlib

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.optim import lr_scheduler
from dyadic.optim.lr_scheduler import *  # noqa: F403  the stored expressions name them

DATA = pathlib.Path(__file__).parents[1] / "optim" / "data"
LINES = [line.split(" | ") for line in (DATA / "torch_schedules.txt").read_text().splitlines()]
CASES = [line for line in LINES if line[0] != "plateau"]


def numbers(text):
    return [float(v) for v in text.split()]


def make_optimizer(kind):
    a, b = (dy.nn.Parameter(dy.zeros(1)) for _ in range(2))
    a.grad = b.grad = dy.ones(1)
    groups = [{"params": [a]}, {"params": [b], "lr": 0.05}]
    return optim.SGD(groups, lr=0.1, momentum=0.9) if kind == "momentum" else optim.Adam(groups, lr=0.1)


def make_schedule(case, o):
    return eval(case, {**globals(), "o": o})


def rates_of(o):
    return [g["lr"] for g in o.param_groups]


@pytest.mark.parametrize("case, kind, rates, momenta", CASES)
def test_rates_are_pytorchs(case, kind, rates, momenta):
    o = make_optimizer(kind)
    s = make_schedule(case, o)
    want, got, got_momenta = numbers(rates), [], []
    for _ in range(len(want) // 2):
        got += rates_of(o)
        got_momenta += [g["momentum"] if kind == "momentum" else g["betas"][0] for g in o.param_groups]
        assert s.get_last_lr() == rates_of(o)
        o.step()
        s.step()
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    if momenta:
        np.testing.assert_allclose(got_momenta, numbers(momenta), rtol=1e-9)


@pytest.mark.parametrize("case, kind", [c[:2] for c in CASES])
def test_saving_goes_on(case, kind):
    straight, resumed = make_optimizer(kind), make_optimizer(kind)
    a, b = make_schedule(case, straight), make_schedule(case, resumed)
    for k in range(20):
        for o, s in ((straight, a), (resumed, b)):
            o.step()
            s.step()
        if k == 8:
            saved, saved_optimizer = b.state_dict(), resumed.state_dict()
            resumed = make_optimizer(kind)
            b = make_schedule(case, resumed)
            resumed.load_state_dict(saved_optimizer)
            b.load_state_dict(saved)
        assert rates_of(straight) == rates_of(resumed) and a.last_epoch == b.last_epoch


@pytest.mark.parametrize("kwargs, rates, metrics", [line[1:] for line in LINES if line[0] == "plateau"])
def test_plateau_is_pytorchs(kwargs, rates, metrics):
    o = make_optimizer("momentum")
    s = lr_scheduler.ReduceLROnPlateau(o, **eval(kwargs))
    got = []
    for m in numbers(metrics):
        s.step(m)
        got += s.get_last_lr()
    np.testing.assert_allclose(got, numbers(rates), rtol=1e-9)
    other = lr_scheduler.ReduceLROnPlateau(o, **eval(kwargs))
    other.load_state_dict(s.state_dict())
    assert other.state_dict() == s.state_dict()
    with pytest.raises(TypeError):
        s.step()


def test_warm_restarts_take_fractions():
    o = make_optimizer("momentum")
    s = lr_scheduler.CosineAnnealingWarmRestarts(o, 4)
    s.step(6.5)
    np.testing.assert_allclose(rates_of(o)[0], 0.05 * (1 + np.cos(np.pi * 2.5 / 4)))
    with pytest.raises(ValueError, match="whole epoch"):
        lr_scheduler.StepLR(o, 2).step(1.5)


def test_errors():
    o = make_optimizer("momentum")
    with pytest.raises(ValueError, match="number of steps is missing"):
        lr_scheduler.OneCycleLR(o, 0.1)
    with pytest.raises(ValueError, match="unknown mode"):
        lr_scheduler.CyclicLR(o, 0.1, 0.2, mode="square")
    with pytest.raises(ValueError, match="neither momentum nor betas"):
        lr_scheduler.CyclicLR(optim.Adagrad([dy.nn.Parameter(dy.zeros(1))]), 0.1, 0.2)
    with pytest.raises(ValueError, match="milestones"):
        lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 2)], [3])
    with pytest.raises(TypeError):
        lr_scheduler.StepLR(o)
    with pytest.raises(ZeroDivisionError):
        lr_scheduler.LambdaLR(o, lambda e: 1 / 0)


def test_every_schedule_is_an_lr_scheduler():
    o = make_optimizer("momentum")
    steps = [lr_scheduler.StepLR(o, 2), lr_scheduler.ExponentialLR(o, 0.5)]
    sequence, chain = lr_scheduler.SequentialLR(o, steps, [3]), lr_scheduler.ChainedScheduler(steps)
    plateau = lr_scheduler.ReduceLROnPlateau(o, patience=1)
    for s in (*steps, sequence, chain, plateau):
        assert isinstance(s, lr_scheduler.LRScheduler) and s.optimizer is o
    assert not hasattr(sequence, "base_lrs") and hasattr(steps[0], "base_lrs")
    for metric in (3.0, dy.tensor(2.0), 2.0):
        plateau.step(metric)
    assert (plateau.best, plateau.num_bad_epochs, plateau.cooldown_counter, plateau.patience) == (2.0, 1, 0, 1)
    with pytest.raises(TypeError, match="schedules"):
        lr_scheduler.ChainedScheduler([3])


def test_states_have_pytorchs_names():
    def began():
        p = nn.Parameter(dy.ones(2))
        p.grad = dy.ones(2)
        o = optim.SGD([p], lr=0.1, momentum=0.9)
        return o, optim.lr_scheduler.MultiStepLR(o, [2, 2, 5], 0.5)

    o, s = began()
    for _ in range(3):
        o.step(), s.step()
    counts = {"_step_count": 4, "_is_initial": False, "_get_lr_called_within_step": False}
    assert s.state_dict() == {"milestones": {2: 2, 5: 1}, "gamma": 0.5, "base_lrs": [0.1], "last_epoch": 3, "_last_lr": [0.025], **counts}
    # without what only PyTorch counts, with another gamma
    other, t = began()
    other.param_groups[0]["lr"] = 0.025
    t.load_state_dict({"milestones": {2: 2, 5: 1}, "gamma": 0.1, "base_lrs": [0.1], "last_epoch": 3, "_last_lr": [0.025]})
    for _ in range(2):
        other.step(), t.step()
    assert t.last_epoch == 5 and abs(t.get_last_lr()[0] - 0.0025) < 1e-12 and t.gamma == 0.1
    # an earlier version's
    t.load_state_dict({"last_epoch": [4.0], "base_lrs": [0.1], "last_lr": [0.05], "option.gamma": [0.5], "option.milestones": [2.0, 5.0]})
    assert t.last_epoch == 4 and t.get_last_lr() == [0.05] and t.gamma == 0.5


def test_states_of_cycles_and_sequences():
    def optimizer():
        p = nn.Parameter(dy.ones(2))
        p.grad = dy.ones(2)
        return optim.SGD([p], lr=0.1, momentum=0.9)

    schedulers = optim.lr_scheduler
    made = [
        lambda o: schedulers.CyclicLR(o, 0.1, 0.2, step_size_up=3),
        lambda o: schedulers.OneCycleLR(o, 0.1, 20),
        lambda o: schedulers.CosineAnnealingWarmRestarts(o, 5),
        lambda o: schedulers.SequentialLR(o, [schedulers.StepLR(o, 3), schedulers.ExponentialLR(o, 0.9)], [4]),
        lambda o: schedulers.ChainedScheduler([schedulers.StepLR(o, 3), schedulers.ExponentialLR(o, 0.9)]),
    ]
    for make in made:
        o, resumed = optimizer(), optimizer()
        s, t = make(o), make(resumed)
        for _ in range(3):
            o.step(), s.step()
        resumed.load_state_dict(o.state_dict())
        t.load_state_dict(s.state_dict())
        for _ in range(6):
            o.step(), s.step(), resumed.step(), t.step()
            assert t.get_last_lr() == s.get_last_lr()
    cycle = made[0](optimizer()).state_dict()
    assert cycle["total_size"] == 6 and cycle["step_ratio"] == 0.5 and cycle["max_lrs"] == [0.2] and cycle["base_momentums"] == [0.8]
    assert [sorted(s)[-1] for s in made[3](optimizer()).state_dict()["_schedulers"]] == ["step_size", "last_epoch"]


def test_the_state_of_a_plateau():
    o = optim.SGD([nn.Parameter(dy.ones(2))], lr=0.1)
    s = optim.lr_scheduler.ReduceLROnPlateau(o, patience=3)
    state = {"factor": 0.5, "min_lrs": [0], "patience": 1, "cooldown": 0, "eps": 1e-8, "last_epoch": 4, "_last_lr": [0.1], "mode_worse": math.inf}
    s.load_state_dict({**state, "mode": "min", "threshold": 1e-4, "threshold_mode": "rel", "best": 1.0, "cooldown_counter": 0, "num_bad_epochs": 1})
    s.step(1.0)
    assert o.param_groups[0]["lr"] == 0.05 and s.state_dict()["best"] == 1.0 and s.patience == 1
