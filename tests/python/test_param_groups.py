"""param_groups is a list of dicts that the next step reads; values are PyTorch's."""
import copy

import pytest

import dyadic as dy
from dyadic import nn, optim


def parameter(*values):
    p = nn.Parameter(dy.tensor([float(v) for v in values]))
    p.grad = dy.ones(len(values))
    return p


class Descent(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @dy.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad, alpha=group["lr"])


@pytest.mark.parametrize("kind", [optim.SGD, Descent])
def test_groups_are_added_and_removed(kind):
    a, b = parameter(1), parameter(2)
    optimizer = kind([a], 0.5)
    optimizer.param_groups.append({**optimizer.param_groups[0], "params": [b]})
    optimizer.step()
    assert (a.item(), b.item()) == (0.5, 1.5)
    del optimizer.param_groups[0]
    optimizer.step()
    assert (a.item(), b.item()) == (0.5, 1.0)
    optimizer.param_groups[:] = [{**optimizer.param_groups[0], "params": (a,)}]
    optimizer.step()
    assert (a.item(), b.item()) == (0.0, 1.0)
    optimizer.param_groups[0]["params"] = [a, b]
    optimizer.zero_grad()
    assert a.grad is None and b.grad is None
    optimizer.param_groups.clear()
    a.grad = dy.ones(1)
    optimizer.step()
    assert a.item() == 0.0


def test_momentum_stays_with_its_parameter():
    a, b = parameter(1), parameter(2)
    optimizer = optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1, momentum=0.9)
    optimizer.step()
    del optimizer.param_groups[0]
    optimizer.step()
    assert (round(a.item(), 6), round(b.item(), 6)) == (0.9, 1.71)


def test_a_parameter_in_two_groups_is_stepped_twice():
    p = parameter(1)
    optimizer = optim.Adam([p], lr=0.1)
    optimizer.param_groups.append({**optimizer.param_groups[0]})
    optimizer.step()
    optimizer.step()
    assert round(p.item(), 5) == 0.6 and optimizer.state[p]["step"] == 4


def test_groups_and_states_are_plain():
    p = parameter(1)
    optimizer = optim.Adam([p], lr=0.1)
    group = optimizer.param_groups[0]
    assert type(group) is dict and type(optimizer.param_groups) is list and optimizer.param_groups == optimizer.param_groups
    assert copy.deepcopy(optimizer.param_groups)[0]["lr"] == 0.1 and group.copy()["params"][0] is p
    assert optimizer.state[p] == {} and p in optimizer.state
    given = {"params": [parameter(2)]}
    optimizer.add_param_group(given)
    assert optimizer.param_groups[1] is given and given["betas"] == (0.9, 0.999)


def test_what_is_wrong_in_a_group_is_said_by_the_step():
    p = parameter(1)
    optimizer = optim.SGD([p], lr=0.1)
    group = optimizer.param_groups[0]
    group["params"] = [3]
    with pytest.raises(TypeError, match="params holds int"):
        optimizer.step()
    group["params"] = [p]
    group["lr"] = "fast"
    with pytest.raises(TypeError, match="lr has the wrong type"):
        optimizer.step()
    group["lr"] = 0.5
    optimizer.step()
    assert p.item() == 0.5
    optimizer.state = []
    with pytest.raises(TypeError, match="state is list"):
        optimizer.step()


def test_a_rate_may_be_a_tensor():
    p, rate = parameter(1), dy.tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    optimizer.step()
    rate.mul_(0.5)
    optimizer.step()
    assert optimizer.param_groups[0]["lr"] is rate and p.item() == 0.25
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.125


def test_options_of_other_kinds_of_containers():
    p = parameter(1, 2)
    optimizer = optim.Adam([p], lr=0.1)
    optimizer.step()
    optimizer.param_groups[0].update(betas=[0.5, 0.6], amsgrad=True)
    optimizer.state[p]["max_exp_avg_sq"] = dy.zeros(2)
    optimizer.step()
    assert [round(v, 5) for v in p.tolist()] == [0.80731, 1.80731]


def test_options_that_were_refused_are_read_again():
    p = parameter(1)
    optimizer = optim.SGD([p], lr=0.5, momentum=0.0)
    before = dict(optimizer.param_groups[0])
    optimizer.param_groups[0].update(lr=0.25, momentum="much")
    with pytest.raises(TypeError, match="momentum has the wrong type"):
        optimizer.step()
    optimizer.param_groups[0].update(before)
    optimizer.step()
    assert p.item() == 0.5


def test_betas_may_be_tensors():
    p, beta = parameter(1), dy.tensor(0.5)
    optimizer = optim.Adam([p], lr=0.1, betas=(beta, 0.999))
    optimizer.step()
    beta.fill_(0.0)
    p.grad = dy.zeros(1)
    optimizer.step()
    assert optimizer.state[p]["exp_avg"].item() == 0
