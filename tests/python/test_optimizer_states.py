"""What optimizers keep, in PyTorch's form: state by parameter, state_dict(), hooks, groups."""
import collections
import copy
import pickle

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim


def stepped(name, shape=(2, 3), steps=3, dtype="f32", **options):
    p = nn.Parameter(dy.ones(*shape, dtype=dtype))
    optimizer = getattr(optim, name)([p], **options)
    go_on(optimizer, p, steps)
    return optimizer, p


def go_on(optimizer, p, steps=2):
    for k in range(steps):
        p.grad = (dy.arange(p.numel()).reshape(*p.shape) + k).cos().to(p.dtype)
        optimizer.step()


KEPT = {  # PyTorch's names
    "SGD": set(),
    "Adam": {"step", "exp_avg", "exp_avg_sq"},
    "Adamax": {"step", "exp_avg", "exp_inf"},
    "NAdam": {"step", "mu_product", "exp_avg", "exp_avg_sq"},
    "Adagrad": {"step", "sum"},
    "RMSprop": {"step", "square_avg"},
    "Adadelta": {"step", "square_avg", "acc_delta"},
    "ASGD": {"step", "eta", "mu", "ax"},
    "Rprop": {"step", "prev", "step_size"},
    "Adafactor": {"step", "row_var", "col_var"},
    "Muon": {"momentum_buffer"},
}


@pytest.mark.parametrize("name", KEPT)
def test_states_have_pytorchs_names_and_shapes(name):
    optimizer, p = stepped(name)
    saved = optimizer.state_dict()
    assert set(saved) == {"state", "param_groups"} and saved["param_groups"][0]["params"] == [0]
    kept = saved["state"].get(0, {})
    assert set(kept) == KEPT[name] and "param_names" not in saved["param_groups"][0]
    for key, t in kept.items():
        scalar = key in ("step", "eta", "mu", "mu_product")
        assert tuple(t.shape) == (() if scalar else {"row_var": (2, 1), "col_var": (1, 3)}.get(key, (2, 3))) and t.dtype is dy.float32
    assert "step" not in kept or kept["step"].item() == 3


@pytest.mark.parametrize("name", [*KEPT, "LBFGS"])
def test_every_way_of_saving_goes_on_with_the_same_bits(name):
    def run(optimizer, p, steps):
        if name != "LBFGS":
            return go_on(optimizer, p, steps)
        for _ in range(steps):
            optimizer.step(lambda: (optimizer.zero_grad(), ((p - 2) ** 2 * dy.tensor([1.0, 2, 3])).sum())[1].backward_and_return())

    if name == "LBFGS":
        dy.Tensor.backward_and_return = lambda t: (t.backward(), t)[1]
    p = nn.Parameter(dy.ones(2, 3))
    optimizer = getattr(optim, name)([p], **({"max_iter": 2} if name == "LBFGS" else {}))
    run(optimizer, p, 2)
    loaded_into = nn.Parameter(p.detach().clone())
    loaded = getattr(optim, name)([loaded_into])
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    others = [(loaded, loaded_into)]
    for made in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        others.append((made, made.param_groups[0]["params"][0]))
    run(optimizer, p, 2)
    for other, q in others:
        run(other, q, 2)
        assert q.tolist() == p.tolist() and other.steps == optimizer.steps
    if name == "LBFGS":
        del dy.Tensor.backward_and_return
        assert {"func_evals", "n_iter", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad"} <= set(optimizer.state[p])


def test_states_that_another_library_wrote():
    p = nn.Parameter(dy.zeros(2, 2))
    optimizer = optim.AdamW([p])
    group = {"lr": 0.5, "betas": (0.8, 0.9), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "foreach": None, "params": [0]}
    state = {"step": dy.tensor(4.0), "exp_avg": dy.full((2, 2), 2.0, dtype="f64"), "exp_avg_sq": dy.ones(2, 2, dtype="f64")}
    optimizer.load_state_dict({"state": {0: state}, "param_groups": [group]})
    kept = optimizer.state[p]
    assert kept["exp_avg"].dtype is dy.float32 and kept["exp_avg"].tolist() == [[2, 2], [2, 2]] and kept["step"] == 4
    assert optimizer.steps == 4 and optimizer.param_groups[0]["lr"] == 0.5 and optimizer.param_groups[0]["betas"] == (0.8, 0.9)
    p.grad = dy.ones(2, 2)
    optimizer.step()
    m, v = 0.8 * 2 + 0.2, 0.9 + 0.1
    want = -0.5 * (m / (1 - 0.8**5)) / (np.sqrt(v / (1 - 0.9**5)) + 1e-8)
    np.testing.assert_allclose(p.detach().numpy(), want, rtol=1e-6)
    sgd = optim.SGD([p], momentum=0.9)
    sgd.load_state_dict({"state": {0: {"momentum_buffer": None}}, "param_groups": sgd.state_dict()["param_groups"]})
    assert sgd.state[p] == {"momentum_buffer": None}
    sgd.step()
    assert sgd.state[p]["momentum_buffer"].tolist() == [[1, 1], [1, 1]]
    optimizer.load_state_dict({"state": {0: {**state, "exp_avg": dy.ones(5)}}, "param_groups": [group]})
    with pytest.raises(ValueError, match=r"AdamW: the state exp_avg of 0 does not fit: it is f32\[5\], the parameter f32\[2, 2\]"):
        optimizer.step()
    with pytest.raises(ValueError, match=r"groups of \[2\] there, of \[1\] here"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_the_form_of_earlier_versions_loads():
    p = nn.Parameter(dy.zeros(2, 2))
    optimizer = optim.Adam([p])
    state = {"exp_avg.0": dy.arange(4.0), "exp_avg_sq.0": dy.ones(4)}
    optimizer.load_state_dict({"step": 7, "state": state, "param_groups": [{"names": ["0"], "lr": 0.25}]})
    assert optimizer.steps == 7 and optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.state[p]["exp_avg"].tolist() == [[0, 1], [2, 3]] and optimizer.state[p]["step"] == 7


def test_state_is_read_and_written_by_parameter():
    optimizer, p = stepped("AdamW", (2, 2), 1)
    assert list(optimizer.state) == [p] and p in optimizer.state
    optimizer.state[p]["exp_avg"].zero_()
    assert optimizer.state[p]["exp_avg"].sum() == 0
    optimizer.state[p]["exp_avg"] = dy.ones(2, 2)
    optimizer.state[p]["step"] += 5
    assert optimizer.state[p]["exp_avg"].sum() == 4 and optimizer.state[p]["step"] == 6
    kept = copy.deepcopy(optimizer.state)
    optimizer.state = collections.defaultdict(dict)
    assert len(optimizer.state) == 0 and optimizer.state_dict()["state"] == {}
    optimizer.state = {p: next(iter(kept.values()))}
    assert optimizer.state[p]["step"] == 6 and optimizer.state[p]["exp_avg"].sum() == 4
    del optimizer.state[p]["exp_avg"]
    assert "exp_avg" not in optimizer.state[p] and "exp_avg_sq" in optimizer.state[p]
    del optimizer.state[p]
    assert p not in optimizer.state
    optimizer.state = collections.defaultdict(dict)
    assert optimizer.state[p] == {} and p in optimizer.state


def test_hooks_of_saving_and_loading():
    optimizer, _ = stepped("SGD")
    seen = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("before"))
    handle = optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append("more" in state))
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append("first"), prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("after"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["before", "first", True, "after"]
    handle.remove()
    assert "more" not in optimizer.state_dict()


def test_groups_show_what_pytorchs_show():
    a, b = nn.Parameter(dy.ones(2)), nn.Parameter(dy.ones(3))
    optimizer = optim.SGD([("a", a), ("b", b)], lr=0.1, foreach=True)
    group = optimizer.param_groups[0]
    assert group["param_names"] == ["a", "b"] and group["foreach"] is True and group["fused"] is None
    assert optimizer.defaults["differentiable"] is False and optimizer.defaults["lr"] == 0.1
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    assert optim.AdamW([a]).defaults["decoupled_weight_decay"] is True and optim.LBFGS([a]).param_groups[0]["max_eval"] == 25
    group = optim.RMSprop([a], 0.1, 0.9, 1e-7, 0.1, 0.2, True, False, None, True).param_groups[0]
    assert group["centered"] and group["maximize"] and not group["capturable"] and group["foreach"] is None
    swapped = optim.SGD([("b", nn.Parameter(dy.ones(3))), ("a", nn.Parameter(dy.ones(2)))], lr=0.1, momentum=0.9)
    first = optim.SGD([("a", a), ("b", b)], lr=0.1, momentum=0.9)
    a.grad, b.grad = dy.ones(2), dy.ones(3)
    first.step()
    swapped.load_state_dict(first.state_dict())  # by names
    assert all(s["momentum_buffer"].shape == p.shape for p, s in swapped.state.items()) and len(swapped.state) == 2


def test_conversions_keep_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.linear = nn.Parameter(dy.ones(3)), nn.Linear(3, 1)

        def forward(self, x):
            return self.linear(x * self.scale)

    for name in ("float", "double", "bfloat16", "half"):
        model = Scaled()
        scale, weight = model.scale, model.linear.weight
        optimizer = optim.SGD(model.parameters(), lr=0.5)
        model(dy.ones(1, 3)).sum().backward()
        getattr(model, name)()
        assert model.scale is scale and model.linear.weight is weight and scale.requires_grad and scale.grad.dtype is scale.dtype
        optimizer.zero_grad()
        model(dy.ones(1, 3, dtype=scale.dtype)).sum().backward()
        before = weight.tolist()
        optimizer.step()
        assert weight.tolist() != before and model.state_dict()["linear.weight"].tolist() == weight.tolist()
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    assert tied.double()[1].weight is tied[0].weight and tied[1].bias.dtype is dy.float64


def test_norms_of_f64_gradients_are_f64():
    p = nn.Parameter(dy.ones(3, dtype="f64"))
    p.grad = dy.tensor([0.1, 0.2, 0.3], dtype="f64")
    norm = nn.utils.clip_grad_norm_([p], 10.0)
    assert norm.dtype is dy.float64 and abs(norm.item() - np.sqrt(0.14)) < 1e-15
    assert nn.utils.get_total_norm([p.grad, dy.zeros(2)], 0).item() == 1
    assert nn.utils.get_total_norm([dy.ones(2)]).dtype is dy.float32
