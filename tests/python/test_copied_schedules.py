"""Schedules, scalers and what else goes with an optimizer, copied and pickled."""
import copy
import pickle

import pytest

import dyadic as dy
from dyadic.optim import lr_scheduler


def halved(epoch):
    return 0.5**epoch


class Tenth(lr_scheduler.LRScheduler):
    def get_lr(self):
        return [group["lr"] * 0.1 for group in self.optimizer.param_groups]


MADE = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, halved),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=10),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [2, 4]),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)], [2]),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)], o),
    "own": Tenth,
}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_schedules_are_values(make, copied):
    def train(optimizer, schedule):
        for _ in range(3):
            optimizer.param_groups[0]["params"][0].grad = dy.ones(2)
            optimizer.step()
            schedule.step(*[1.0] * isinstance(schedule, lr_scheduler.ReduceLROnPlateau))
        return [optimizer.param_groups[0]["lr"], *schedule.get_last_lr(), *optimizer.param_groups[0]["params"][0].tolist()]

    optimizer = dy.optim.SGD([dy.nn.Parameter(dy.ones(2))], lr=0.1, momentum=0.9)
    schedule = make(optimizer)
    train(optimizer, schedule)
    other, again = copied((optimizer, schedule))
    assert again.optimizer is other and train(other, again) == train(optimizer, schedule)


def test_what_a_plateau_counts_may_be_set():
    schedule = lr_scheduler.ReduceLROnPlateau(dy.optim.SGD([dy.nn.Parameter(dy.ones(1))], lr=1.0), patience=5, factor=0.5)
    schedule.best, schedule.num_bad_epochs = 1.0, 5
    schedule.step(2.0)
    assert schedule.get_last_lr() == [0.5] and schedule.best == 1.0 and schedule.num_bad_epochs == 0


def test_states_by_name():
    class Named(dy.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 1.0})
            self.state["sum"], self.state["count"], self.state["more"] = dy.ones(1), 3, {"a": 1}

        def step(self, closure=None):
            self._patch_step_function()

    first, second = (Named([dy.nn.Parameter(dy.ones(1))]) for _ in range(2))
    first.state["count"] = 4
    second.load_state_dict(first.state_dict())
    assert second.state["sum"].tolist() == [1] and second.state["count"] == 4 and second.state["more"] == {"a": 1}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_scalers_are_values(copied):
    scaler = copied(dy.GradScaler(init_scale=8.0, growth_interval=3))
    assert scaler.get_scale() == 8.0 and scaler.get_growth_interval() == 3 and scaler.is_enabled()
    assert not copied(dy.GradScaler(enabled=False)).is_enabled()
