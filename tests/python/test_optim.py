"""Optimizers from Python against PyTorch's stored numbers, groups, saving, closures, averages, clipping."""
import math
import pathlib

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim

DATA = pathlib.Path(__file__).parents[1] / "optim" / "data"
CASES = [line.split(" | ") for line in (DATA / "torch_trajectories.txt").read_text().splitlines()]


def start(n):
    return np.array([((7 * i) % 11 - 5) / 4 for i in range(n)])


@pytest.mark.parametrize("name, options, values", [c for c in CASES if c[0] not in ("LBFGS", "Muon")])
def test_trajectories_are_pytorchs(name, options, values):
    params = [nn.Parameter(dy.tensor(start(12).reshape(4, 3))), nn.Parameter(dy.tensor(start(5) + 0.25))]
    optimizer = getattr(optim, name)(params, **eval(f"dict({options})"))
    got = []
    for k in range(20):
        for p in params:
            i = np.arange(p.numel()).reshape(tuple(p.shape))
            p.grad = dy.tensor(0.3 * p.detach().numpy() + 0.5 * np.cos(0.7 * i + 0.9 * k))
        optimizer.step()
        if k in (0, 9, 19):
            got += [x for p in params for x in p.detach().numpy().flatten().tolist()]
    np.testing.assert_allclose(got, [float(v) for v in values.split()], rtol=1e-7, atol=2e-8)


@pytest.mark.parametrize("options, values", [c[1:] for c in CASES if c[0] == "LBFGS"])
def test_lbfgs_takes_a_closure(options, values):
    p = nn.Parameter(dy.tensor(np.array([-1.5, 2.0, 0.5, -0.5])))
    optimizer = optim.LBFGS([p], **eval(f"dict({options})"))

    def closure():
        optimizer.zero_grad()
        loss = (10 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
        loss.backward()
        return loss

    got = []
    for _ in range(3):
        got += [optimizer.step(closure).item(), *p.detach().tolist()]
    np.testing.assert_allclose(got, [float(v) for v in values.split()], rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="closure"):
        optimizer.step()


def test_classes_are_records():
    assert {"SGD", "Adam", "AdamW", "Lion", "Muon", "LAMB", "LARS", "ScheduleFreeAdamW", "LBFGS"} <= set(optim.__all__)
    text = str(optim.SGD.__signature__)
    assert text.startswith("(params, lr: float = 0.001, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False")
    assert issubclass(optim.Adam, optim.Optimizer) and "Kingma" in optim.Adam.__doc__
    with pytest.raises(TypeError):
        optim.SGD()
    with pytest.raises(TypeError):
        optim.SGD([nn.Parameter(dy.zeros(1))], beta=1)


def test_groups():
    a, b = (nn.Parameter(dy.zeros(3)) for _ in range(2))
    optimizer = optim.SGD([{"params": [a]}], lr=0.1, momentum=0.9)
    optimizer.add_param_group({"params": b, "lr": 0.5})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5] and optimizer.param_groups[1]["params"][0] is b
    group = optimizer.param_groups[0]
    group["lr"] *= 2
    assert optimizer.param_groups[0]["lr"] == 0.2 and "momentum" in group and "betas" not in group and group["nesterov"] is False
    with pytest.raises(ValueError, match="one group"):
        optimizer.add_param_group({"params": [a]})
    group["lr"] = -1
    with pytest.raises(ValueError, match="out of range"):
        optimizer.step()
    assert optim.Adafactor([a]).param_groups[0]["eps"] == (None, 0.001)


def test_zero_grad_and_closure():
    p = nn.Parameter(dy.ones(2))
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2 and p.tolist() == [0, 0]
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)


_STORED = [(name, state) for name in ["SGD", "NAdam", "ASGD", "ScheduleFreeAdamW", "RMSprop"] for state in ["f32", "dynamic8", "i4(group=64)"]]


@pytest.mark.parametrize("name, state", _STORED + [("Adafactor", "f32")])
def test_saving_goes_on_bit_for_bit(name, state):
    def trained(interrupted):
        dy.manual_seed(0)
        p = nn.Parameter(dy.randn(70, 70))
        make = lambda: getattr(optim, name)([("p", p)], lr=0.01, state=state, **({"momentum": 0.9} if name == "SGD" else {}))
        optimizer = make()
        for k in range(6):
            p.grad = dy.randn(70, 70)
            optimizer.step()
            if interrupted and k == 2:
                saved = optimizer.state_dict()
                optimizer = make()
                optimizer.load_state_dict(saved)
        return p.detach().numpy()

    np.testing.assert_array_equal(trained(True), trained(False))


def test_adafactor_keeps_its_states_in_f32():
    with pytest.raises(ValueError, match="Adafactor: its states are a row and a column of each matrix, in f32: state is dynamic8"):
        optim.Adafactor([nn.Parameter(dy.randn(70, 70))], state="dynamic8")


def test_state_dict_carries_options():
    p = nn.Parameter(dy.ones(3))
    optimizer = optim.Adam([p], lr=0.1, betas=(0.5, 0.6))
    optimizer.param_groups[0]["lr"] = 0.01
    other = optim.Adam([p])
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["lr"] == 0.01 and other.param_groups[0]["betas"] == (0.5, 0.6)


def test_bf16_parameters_and_lost_updates():
    p = nn.Parameter(dy.ones(100, dtype="bf16"))
    optimizer = optim.SGD([p], lr=1e-4)
    p.grad = dy.ones(100, dtype="bf16")
    optimizer.step()
    assert optimizer.lost_updates() == 1 and (p == 1).all()
    optimizer = optim.SGD([p], lr=1e-3, stochastic_rounding=True)
    for _ in range(100):
        optimizer.step()
    assert 0.85 < p.detach().float().mean().item() < 0.95
    small, large = (nn.Parameter(dy.ones(10, dtype="bf16")) for _ in range(2))
    optimizer = optim.SGD([{"params": [small], "lr": 1e-5}, {"params": [large], "lr": 1.0}], lr=0.1)
    small.grad = large.grad = dy.ones(10, dtype="bf16")
    optimizer.step()
    assert [optimizer.lost_updates(i) for i in (0, 1)] == [1, 0] and optimizer.lost_updates() == 0.5
    optimizer.clear_updates()
    assert optimizer.lost_updates(0) == 0
    with pytest.raises(IndexError, match="2 groups"):
        optimizer.lost_updates(2)


def test_averages():
    model = nn.Linear(2, 1, bias=False)
    averaged = optim.swa_utils.AveragedModel(model)
    ema = optim.swa_utils.AveragedModel(model, avg_fn=optim.swa_utils.get_ema_avg_fn(0.75))
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(model.weight, value)
        averaged.update_parameters(model)
        ema.update_parameters(model)
    assert averaged.module.weight.tolist() == [[3, 3]] and averaged.n_averaged == 3
    np.testing.assert_allclose(ema.module.weight.tolist(), [[0.75 * (0.75 + 0.5) + 1.5] * 2])
    assert averaged(dy.ones(1, 2)).item() == 6 and model.weight.tolist() == [[6, 6]]
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight"]
    other = optim.swa_utils.AveragedModel(model)
    other.load_state_dict(averaged.state_dict())
    assert other.module.weight.tolist() == [[3, 3]] and other.n_averaged == 3


def test_averages_of_lists_and_buffers():
    model = nn.Sequential(nn.Linear(2, 1, bias=False), nn.BatchNorm1d(1))
    lists = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.75))
    buffers = optim.swa_utils.AveragedModel(model, use_buffers=True)
    for value in (1.0, 2.0):
        nn.init.constant_(model[0].weight, value)
        model[1].running_mean.fill_(value)
        lists.update_parameters(model)
        buffers.update_parameters(model)
    assert lists.module[0].weight.tolist() == [[1.25, 1.25]] and lists.module[1].running_mean.tolist() == [2]
    assert buffers.module[1].running_mean.tolist() == [1.5]
    optim.swa_utils.update_bn([dy.ones(4, 2)], lists)
    assert lists.module[1].running_mean.tolist() == [2.5] and model[1].running_mean.tolist() == [2]


def test_update_bn():
    model = nn.Sequential(nn.BatchNorm1d(3)).eval()
    x = [dy.randn(8, 3) * 2 + 1 for _ in range(4)]
    optim.swa_utils.update_bn(x, model)
    want = np.mean([b.numpy().mean(0) for b in x], 0)
    np.testing.assert_allclose(model[0].running_mean.numpy(), want, rtol=1e-5, atol=1e-6)
    assert not model.training and model[0].momentum == 0.1


def test_clipping():
    p, q = nn.Parameter(dy.zeros(3)), nn.Parameter(dy.zeros(1))
    set_gradients = lambda: (setattr(p, "grad", dy.tensor([1.0, -2.0, 2.0])), setattr(q, "grad", dy.tensor([4.0])))
    for kind, norm in ((2.0, 5.0), (1, 9.0), (math.inf, 4.0), (3, (1 + 8 + 8 + 64) ** (1 / 3))):
        set_gradients()
        assert abs(nn.utils.get_total_norm([p.grad, q.grad], kind).item() - norm) < 1e-5
        assert abs(nn.utils.clip_grad_norm_([p, q], 2.0, kind).item() - norm) < 1e-5
        assert abs(nn.utils.get_total_norm([p.grad, q.grad], kind).item() - 2) < 1e-4
    set_gradients()
    nn.utils.clip_grad_value_([p, q], 1.5)
    assert p.grad.tolist() == [1, -1.5, 1.5] and q.grad.tolist() == [1.5]
    q.grad = dy.tensor([math.nan])
    with pytest.raises(RuntimeError, match="norm is nan"):
        nn.utils.clip_grad_norm_([p, q], 1.0, error_if_nonfinite=True)


@pytest.mark.parametrize("state", ["f32", "dynamic8"])
def test_training_converges(state):
    dy.manual_seed(0)
    x = dy.randn(64, 4)
    target = x @ dy.tensor([[1.0, -1], [2, 0.5], [0, 1], [-1, 3]]) + 0.5
    model = nn.Sequential(nn.Linear(4, 64), nn.GELU(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 2))
    optimizer = dy.optim.AdamW(model.named_parameters(), lr=1e-2, weight_decay=0, state=state)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0] and optimizer.steps == 150
    # exp_avg of the 64 x 96 matrix is large enough for 8 bits
    small, large = optimizer.state[model[0].weight], optimizer.state[model[2].weight]
    assert large["exp_avg"].dtype is dy.dtype(state) and small["exp_avg"].dtype is dy.float32
    assert large["exp_avg_sq"].dtype is dy.dtype("f32" if state == "f32" else "udynamic8")


def test_adamw_is_the_formula():
    w = dy.nn.Parameter(dy.tensor([1.0, -2.0]))
    optimizer = dy.optim.AdamW([w], lr=0.1, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.5)
    p, m, v = np.array([1.0, -2.0]), 0, 0
    for step in range(1, 6):
        g = p**2
        w.grad = w.detach() ** 2
        optimizer.step()
        p = p * (1 - 0.1 * 0.5)
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        p = p - 0.1 * (m / (1 - 0.8**step)) / (np.sqrt(v / (1 - 0.9**step)) + 1e-6)
        np.testing.assert_allclose(w.detach().numpy(), p, rtol=1e-5)


def test_optimizer_groups_and_state():
    m = nn.Linear(3, 3)
    optimizer = dy.optim.AdamW([{"params": [m.weight], "lr": 1.0}, {"params": [("b", m.bias)], "weight_decay": 0.25}], lr=0.5)
    a, b = optimizer.param_groups
    assert a["lr"] == 1 and b["lr"] == 0.5 and b["weight_decay"] == 0.25 and a["params"][0] is m.weight and b["param_names"] == ["b"]
    a["lr"] = 0.25
    assert optimizer.param_groups[0]["lr"] == 0.25 and a["betas"] == (0.9, 0.999)
    optimizer.set_lr(2)
    assert a["lr"] == b["lr"] == 2
    m(dy.ones(1, 3)).sum().backward()
    optimizer.step()
    other = dy.optim.AdamW([{"params": [m.weight]}, {"params": [("b", m.bias)]}])
    other.load_state_dict(optimizer.state_dict())
    assert other.steps == 1 and (other.state[m.bias]["exp_avg"] == optimizer.state[m.bias]["exp_avg"]).all()
    assert [g["lr"] for g in other.param_groups] == [2, 2] and b["param_names"] == ["b"] and "param_names" not in a
    for stranger in (dy.optim.AdamW([("0", m.weight)]), dy.optim.AdamW([("0", m.weight), ("c", m.bias)])):
        with pytest.raises(ValueError, match=r"not here \[b\]; is it the same model"):
            stranger.load_state_dict(dy.optim.AdamW([("0", m.weight), ("b", m.bias)]).state_dict())
    for bad, error in (([], ValueError), (m.weight, TypeError), ([3], TypeError), ([m.weight * 2], ValueError)):
        with pytest.raises(error):
            dy.optim.AdamW(bad)
    with pytest.raises(ValueError, match="unknown option"):
        dy.optim.AdamW([{"params": [m.weight], "momentum": 1}])
    with pytest.raises(KeyError):
        a["momentum"]
    with pytest.raises(ValueError):
        dy.optim.AdamW([m.weight], state="nf4")
    schedule = dy.optim.WarmupCosine(peak=1.0, floor=0.1, warmup=10, total=100)
    assert 0 < schedule(0) < schedule(5) < 1 and abs(schedule(100) - 0.1) < 1e-6


def test_norms_and_factors_of_clipping():
    w = nn.Parameter(dy.zeros(4))
    w.grad = dy.full((4,), 3.0)
    norm = dy.optim.grad_norm([w])
    assert norm == 6 and abs(dy.optim.clip_factor(norm, 1.5) - 0.25) < 1e-6 and dy.optim.clip_factor(norm, 10) == 1


def test_clipping_in_place_and_initial_values():
    m = nn.Linear(3, 2)
    for p in m.parameters():
        p.grad = dy.full(p.shape, 2.0)
    norm = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    assert abs(norm - math.sqrt(8 * 4)) < 1e-6 and abs(dy.optim.grad_norm(m.parameters()) - 1) < 1e-5
    assert nn.init.constant_(m.bias, 3) is m.bias and m.bias.tolist() == [3, 3] and nn.init.zeros_(m.bias).tolist() == [0, 0]
    big = nn.Linear(200, 200)
    nn.init.normal_(big.weight, std=0.02)
    assert abs(big.weight.std().item() - 0.02) < 0.001 and big.weight.requires_grad
    big.weight.data.uniform_(2, 3)
    assert 2 <= big.weight.amin().item() and big.weight.amax().item() <= 3
    with pytest.raises(RuntimeError):
        nn.init.normal_(m.bias, std=-1)


@pytest.mark.parametrize("name", ["SGD", "AdamW", "Adafactor", "Lion"])
def test_stored_weights_that_are_frozen_stay_as_they_are(name):
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 4)).to("nf4")
    assert str(model[0].weight.dtype).endswith("nf4") and not model[0].weight.requires_grad
    before, bias = model[0].weight.float(), model[0].bias.detach().clone()
    optimizer = getattr(optim, name)(model.parameters(), lr=0.1)
    model(dy.ones(3, 64)).square().sum().backward()
    optimizer.step()
    assert dy.equal(model[0].weight.float(), before) and not dy.equal(model[0].bias.detach(), bias)
    optimizer.load_state_dict(optimizer.state_dict())
