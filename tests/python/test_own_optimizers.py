"""Optimizers and schedules of one's own, their checkpoints; groups, hooks and copies of optimizers."""
import copy
import pickle

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.train import Checkpoint


class Momentum(optim.Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta})

    @dy.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                state["n"] = state.get("n", 0) + 1
                state.setdefault("buffer", dy.zeros_like(p))
                state["buffer"].mul_(group["beta"]).add_(p.grad)
                p.add_(state["buffer"], alpha=-group["lr"])


def steps(model, optimizer, schedule, n):
    for _ in range(n):
        optimizer.zero_grad()
        (model(dy.ones(4, 2)) ** 2).sum().backward()
        optimizer.step()
        schedule.step()


def test_an_optimizer_of_ones_own(tmp_path):
    def begun():
        dy.manual_seed(0)
        model = nn.Linear(2, 2)
        optimizer = Momentum(model.parameters(), lr=0.01)
        return model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    dy.manual_seed(0)
    theirs = nn.Linear(2, 2)
    sgd = optim.SGD(theirs.parameters(), lr=0.01, momentum=0.9)
    steps(theirs, sgd, optim.lr_scheduler.StepLR(sgd, 2, 0.5), 6)
    model, optimizer, schedule = begun()
    steps(model, optimizer, schedule, 6)
    np.testing.assert_allclose(model.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=1e-5)
    assert optimizer.param_groups[0]["lr"] == 0.00125 and optimizer.state[model.weight]["n"] == 6
    first, again = begun(), begun()
    steps(*first, 3)
    Checkpoint(tmp_path, model=first[0], optimizer=first[1], schedule=first[2]).save(3)
    Checkpoint(tmp_path, model=again[0], optimizer=again[1], schedule=again[2]).resume()
    steps(*again, 3)
    np.testing.assert_array_equal(again[0].weight.detach().numpy(), model.weight.detach().numpy())
    scaler = dy.amp.GradScaler(init_scale=8.0)
    scaler.scale(model(dy.ones(1, 2)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert optimizer.state[model.weight]["n"] == 7


def test_an_optimizer_of_ones_own_is_saved_by_names(tmp_path):
    def begun(order, **options):
        dy.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        parameters = list(model.parameters())
        groups = [{"params": [parameters[i] for i in part], "beta": beta} for part, beta in order]
        return model, Momentum(groups, lr=0.01, **options)

    def trained(model, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            (model(dy.ones(4, 2)) ** 2).sum().backward()
            optimizer.step()
        return model

    one_way, other = [((0, 1, 2), 0.9), ((3,), 0.5)], [((3,), 0.1), ((2, 0, 1), 0.2)]
    want = trained(*begun(one_way), 6)
    first, again = begun(one_way), begun(other)
    trained(*first, 3)
    first[1].state["best"] = 3.5
    Checkpoint(tmp_path, model=first[0], optimizer=first[1]).save(3)
    Checkpoint(tmp_path, model=again[0], optimizer=again[1]).resume()
    assert again[1].steps == 3 and again[1].state["best"] == 3.5 and [g["beta"] for g in again[1].param_groups] == [0.5, 0.9]
    got = trained(*again, 3)
    for a, b in zip(got.parameters(), want.parameters()):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    changed = Momentum(model.parameters(), lr=0.01)
    run = Checkpoint(tmp_path, model=model, optimizer=changed)
    with pytest.raises(ValueError, match=r"optimizer: model.1.bias is \[2\]"):
        run.resume()
    assert not changed.state
    run.resume(strict=False)
    assert set(changed.state) == {"best", *model[0].parameters()} and changed.state[model[0].weight]["n"] == 3

    class Other(Momentum):
        pass

    model, _ = begun(one_way)
    with pytest.raises(ValueError, match="optimizer_written: kind is Momentum there and Other here"):
        Checkpoint(tmp_path, model=model, optimizer=Other(model.parameters())).resume()



def test_groups_are_dicts():
    w, b = nn.Parameter(dy.zeros(1)), nn.Parameter(dy.zeros(1))
    o = optim.SGD([{"params": w, "lr": 0.3, "name": "w", "lr_mult": 2.0}, {"params": [b]}], lr=0.1)
    group = o.param_groups[0]
    group["mine"] = 5
    assert (group["name"], group.get("lr_mult"), o.param_groups[0]["mine"], group.get("none")) == ("w", 2.0, 5, None)
    assert dict(group.items())["lr"] == 0.3 and o.defaults["lr"] == 0.1 and "mine" not in o.param_groups[1]
    other = optim.SGD([{"params": w}, {"params": [b]}])
    other.load_state_dict(o.state_dict())
    assert other.param_groups[0]["mine"] == 5 and other.param_groups[0]["lr"] == 0.3
    with pytest.raises(ValueError, match="did you mean weight_decay"):
        optim.SGD([{"params": w, "weight_dacay": 0.1}])


def test_step_hooks():
    p, seen = nn.Parameter(dy.ones(1)), []
    o = optim.SGD([p], lr=0.1)
    o.register_step_pre_hook(lambda optimizer, args, kwargs: seen.append("before"))
    after = o.register_step_post_hook(lambda optimizer, args, kwargs: seen.append("after"))
    p.grad = dy.ones(1)
    o.step()
    after.remove()
    o.step()
    assert seen == ["before", "after", "before"]


@pytest.mark.parametrize("kind", ["Adam", "own"])
def test_optimizers_are_copied(kind):
    m = nn.Linear(2, 2)
    o = Momentum(m.parameters()) if kind == "own" else optim.Adam(m.parameters(), lr=0.25, state="bf16")
    m(dy.ones(1, 2)).sum().backward()
    o.step()
    m2, o2 = copy.deepcopy((m, o))
    assert o2.param_groups[0]["params"][0] is m2.weight and o2.param_groups[0]["lr"] == o.param_groups[0]["lr"]
    for model, optimizer in ((m, o), (m2, o2)):
        model.weight.grad = dy.ones(2, 2)
        optimizer.step()
    np.testing.assert_array_equal(m.weight.detach().numpy(), m2.weight.detach().numpy())
    if kind == "Adam":
        assert pickle.loads(pickle.dumps(o)).param_groups[0]["lr"] == 0.25


class Warmup(optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, steps, last_epoch=-1):
        self.steps = steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * min(1, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]


def test_a_schedule_of_ones_own():
    p = nn.Parameter(dy.ones(1))
    o = optim.SGD([{"params": [p]}, {"params": [nn.Parameter(dy.ones(1))], "lr": 2.0}], lr=1.0)
    s, rates = Warmup(o, 4), []
    p.grad = dy.ones(1)
    for _ in range(5):
        rates.append([g["lr"] for g in o.param_groups])
        o.step()
        s.step()
    assert rates == [[0.25, 0.5], [0.5, 1.0], [0.75, 1.5], [1, 2], [1, 2]] and s.get_last_lr() == [1, 2]
    o2 = optim.SGD([{"params": [p]}, {"params": [nn.Parameter(dy.ones(1))], "lr": 2.0}], lr=1.0)
    s2 = Warmup(o2, 8)
    s2.load_state_dict(s.state_dict())
    assert s2.last_epoch == 5 and s2.steps == 4
    chained = optim.lr_scheduler.SequentialLR(o2, [Warmup(o2, 2), optim.lr_scheduler.ConstantLR(o2, 0.5)], [2])
    assert chained.get_last_lr() == [0.5, 1.0]


def test_another_schedule_is_a_difference(tmp_path):
    def run(schedule):
        model = nn.Linear(2, 2)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        s = schedule(optimizer)
        return s, Checkpoint(tmp_path, model=model, optimizer=optimizer, schedule=s)

    s, checkpoint = run(lambda o: optim.lr_scheduler.StepLR(o, 2))
    s.step(), s.step()
    checkpoint.save(2)
    s, checkpoint = run(lambda o: optim.lr_scheduler.StepLR(o, 3))
    assert checkpoint.resume().step == 2 and s.last_epoch == 2
    for other in (lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5), optim.lr_scheduler.ReduceLROnPlateau):
        s, checkpoint = run(other)
        with pytest.raises(ValueError, match="schedule: the schedule is one of .*base_lrs.*step_size there and one of .* here"):
            checkpoint.resume()
        assert len(checkpoint.resume(strict=False).differences) == 1 and s.last_epoch == 0


def test_a_plain_object_becomes_an_optimizer():
    """As Lightning's: it takes over what an optimizer has, and its class derives from both."""

    class Counting:
        def __init__(self, optimizer):
            self.__dict__ = {key: value for key, value in optimizer.__dict__.items() if key != "step"}
            self.__class__ = type("Counting" + type(optimizer).__name__, (type(self), type(optimizer)), {})
            self.optimizer, self.count = optimizer, 0

        def step(self, closure=None):
            self.count += 1
            return self.optimizer.step(closure)

    p = nn.Parameter(dy.ones(2))
    wrapped = Counting(optim.SGD([p], lr=0.5, momentum=0.9))
    schedule = optim.lr_scheduler.StepLR(wrapped, 1)
    for _ in range(2):
        wrapped.zero_grad()
        p.sum().backward()
        wrapped.step()
        schedule.step()
    assert isinstance(wrapped, optim.Optimizer) and isinstance(wrapped, optim.SGD) and wrapped.count == 2
    assert np.allclose(p.detach().numpy(), 1 - 0.5 - 0.05 * 1.9) and abs(wrapped.param_groups[0]["lr"] - 0.005) < 1e-12
    assert wrapped.state_dict()["state"][0]["momentum_buffer"].tolist() == pytest.approx([1.9, 1.9])
