"""Parameters that are replaced while they are trained, with their states: pruning, Gaussian splatting. Values are PyTorch's."""
import copy

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim


def replace(optimizer, changed, changed_state):
    """Well known from Gaussian splatting's code."""
    for group in optimizer.param_groups:
        old = group["params"][0]
        stored_state = optimizer.state.get(old, None)
        new = nn.Parameter(changed(old).requires_grad_(True))
        if stored_state is not None:
            stored_state["exp_avg"] = changed_state(stored_state["exp_avg"])
            stored_state["exp_avg_sq"] = changed_state(stored_state["exp_avg_sq"])
            del optimizer.state[old]
            group["params"][0] = new
            optimizer.state[group["params"][0]] = stored_state
        else:
            group["params"][0] = new


def test_pruning_growing_and_resetting():
    p = nn.Parameter(dy.tensor([1.0, 2, 3, 4]))
    optimizer = optim.Adam([{"params": [p], "name": "xyz", "lr": 0.1}], lr=0.0, eps=1e-15)
    got = []

    def step():
        q = optimizer.param_groups[0]["params"][0]
        q.grad = dy.arange(q.numel(), dtype=dy.float32) + 1
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        got.append(q.tolist())

    step()
    step()
    mask, more = dy.tensor([True, False, True, True]), dy.tensor([9.0, 8.0])
    replace(optimizer, lambda t: t[mask].detach(), lambda t: t[mask])
    step()
    replace(optimizer, lambda t: dy.cat((t.detach(), more)), lambda t: dy.cat((t, dy.zeros_like(more))))
    step()
    step()
    replace(optimizer, lambda t: dy.zeros(5), lambda t: dy.zeros(5))
    step()
    want = [[0.9, 1.9, 2.9, 3.9], [0.8, 1.8, 2.8, 3.8], [0.7, 2.70283, 3.70177], [0.6, 2.60682, 3.60425, 8.94189, 7.94189]]
    want += [[0.5, 2.51133, 3.50705, 8.86858, 7.86858], [-0.05221] * 5]
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=6e-6)
    q = optimizer.param_groups[0]["params"][0]
    assert list(optimizer.state) == [q] and optimizer.state[q]["step"] == 6


def test_a_new_parameter_has_no_state():
    p, q = nn.Parameter(dy.tensor([1.0, 2])), nn.Parameter(dy.tensor([5.0, 6]))
    optimizer = optim.Adam([p], lr=0.1)
    p.grad, q.grad = dy.ones(2), dy.ones(2)
    optimizer.step()
    optimizer.step()
    optimizer.param_groups[0]["params"][0] = q
    optimizer.step()
    np.testing.assert_allclose(q.tolist(), [4.9, 5.9], rtol=1e-6)
    assert (optimizer.state[p]["step"], optimizer.state[q]["step"]) == (2, 1)


def test_states_are_moved_after_the_parameter():
    p, q = nn.Parameter(dy.tensor([1.0, 2])), nn.Parameter(dy.tensor([5.0]))
    optimizer = optim.Adam([p], lr=0.1)
    p.grad, q.grad = dy.tensor([1.0, 2]), dy.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["params"][0] = q
    state = optimizer.state.pop(p)
    state["exp_avg"], state["exp_avg_sq"] = state["exp_avg"][:1], state["exp_avg_sq"][:1]
    optimizer.state[q] = state
    optimizer.step()
    np.testing.assert_allclose((q.item(), state["exp_avg"].item()), (4.9, 0.19), rtol=1e-6)
    assert optimizer.state[q] is state and state["step"] == 2


def test_states_that_do_not_fit_are_refused():
    p, q = nn.Parameter(dy.ones(2)), nn.Parameter(dy.ones(3))
    optimizer = optim.Adam([p])
    p.grad, q.grad = dy.ones(2), dy.ones(3)
    optimizer.step()
    optimizer.param_groups[0]["params"][0] = q
    optimizer.state[q] = optimizer.state.pop(p)
    with pytest.raises(ValueError, match="the state exp_avg of 0 does not fit"):
        optimizer.step()


def test_a_state_holds_what_its_user_puts_there():
    p = nn.Parameter(dy.tensor([1.0, 2]))
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = dy.ones(2)
    optimizer.step()
    optimizer.state[p].update(note="x", mask=dy.tensor([True, False]))
    optimizer.state["global"] = 7
    optimizer.step()
    other = copy.deepcopy(optimizer)
    q = other.param_groups[0]["params"][0]
    q.grad = dy.ones(2)
    other.step()
    np.testing.assert_allclose((p.tolist(), q.tolist()), ([0.8, 1.8], [0.7, 1.7]), rtol=1e-5)
    assert other.state[q]["note"] == "x" and other.state[q]["mask"].dtype is dy.bool and other.state["global"] == 7
    assert (optimizer.state[p]["step"], other.state[q]["step"]) == (2, 3)


def test_a_state_that_was_removed_begins_anew():
    p = nn.Parameter(dy.ones(1))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = dy.ones(1)
    optimizer.step()
    del optimizer.state[p]
    optimizer.step()
    optimizer.state[p]["momentum_buffer"] = None
    optimizer.step()
    optimizer.state.clear()
    optimizer.step()
    assert abs(p.item() - 0.6) < 1e-6 and optimizer.state[p]["momentum_buffer"].item() == 1


def test_tensors_of_a_state_are_those_that_step():
    p = nn.Parameter(dy.ones(2))
    optimizer = optim.Adam([p])
    p.grad = dy.ones(2)
    optimizer.step()
    mean, count = optimizer.state[p]["exp_avg"], optimizer.state[p]["step"]
    optimizer.step()
    assert optimizer.state[p]["exp_avg"] is mean and optimizer.state[p]["step"] is count and count == 2
    np.testing.assert_allclose(mean.tolist(), [0.19, 0.19], rtol=1e-6)


def test_a_step_that_failed_between_leaves_nothing_behind():
    def run(fail):
        p, q = (nn.Parameter(dy.ones(3)) for _ in range(2))
        optimizer = dy.optim.NAdam([p, q], lr=0.1)
        for _ in range(3):
            p.grad, q.grad = dy.full((3,), 0.5), dy.full((3,), 0.5)
            optimizer.step()
        if fail:
            kept, right = dict(optimizer.state[p]), optimizer.state[q]["exp_avg"]
            optimizer.state[p].clear()
            optimizer.state[q]["exp_avg"] = dy.zeros(7)
            before = p.detach().clone()
            with pytest.raises(RuntimeError, match="exp_avg"):
                optimizer.step()
            with dy.no_grad():
                p.copy_(before)
            optimizer.state[p].clear()
            optimizer.state[p].update(kept)
            optimizer.state[q]["exp_avg"] = right
        optimizer.step()
        return p.tolist()

    assert run(fail=True) == run(fail=False)
