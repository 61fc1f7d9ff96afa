"""What training scripts written for PyTorch use beside layers: containers as lists, states with hooks, copies of everything."""
import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.nn import functional as F
from dyadic.train import Checkpoint


def kinds(modules):
    return [type(m).__name__ for m in modules]


def test_sequential_is_a_list():
    s = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).append(nn.Tanh())
    s.insert(0, nn.Identity())
    s.extend([nn.Sigmoid()])
    del s[1]
    s[0] = nn.GELU()
    assert type(s.pop(1)).__name__ == "ReLU"
    assert kinds(s) == ["GELU", "Linear", "Tanh", "Sigmoid"] and [n for n, _ in s.named_children()] == ["0", "1", "2", "3"]
    assert kinds(s + nn.Sequential(nn.ReLU())) == kinds(s) + ["ReLU"] and kinds(s[1:3]) == ["Linear", "Tanh"]
    assert len(s * 2) == 8
    with pytest.raises(IndexError):
        s[4]


def test_sequential_of_names():
    s = nn.Sequential(OrderedDict(fc=nn.Linear(2, 3), act=nn.ReLU()))
    assert [n for n, _ in s.named_parameters()] == ["fc.weight", "fc.bias"] and s.act is s[1]
    assert s(dy.ones(1, 2)).shape == (1, 3) and [n for n, _ in s[:1].named_children()] == ["fc"]


def test_module_list_is_a_list():
    a = nn.ModuleList([nn.Linear(1, 1)])
    a += [nn.ReLU()]
    a.insert(0, nn.Tanh())
    del a[1]
    a[0] = nn.GELU()
    assert kinds(a + [nn.Tanh()]) == ["GELU", "ReLU", "Tanh"] and kinds(a[1:]) == ["ReLU"]
    assert type(a.pop(0)).__name__ == "GELU" and kinds(a) == ["ReLU"] and [n for n, _ in a.named_children()] == ["0"]


def test_parameters_by_name_and_number():
    d = nn.ParameterDict(parameters={"a": nn.Parameter(dy.ones(2))})
    d["b"] = dy.ones(3)
    assert isinstance(d["b"], nn.Parameter) and d.get("z") is None and list(d | {"c": dy.ones(1)}) == ["a", "b", "c"]
    assert d.setdefault("a").shape == (2,) and d.popitem()[0] == "b" and list(d) == ["a"]
    p = nn.ParameterList([dy.ones(2)])
    p += [dy.ones(1)]
    assert len(list(p.parameters())) == 2 and list(nn.ModuleDict(modules={"r": nn.ReLU()})) == ["r"]


def test_a_shared_module_comes_once():
    one = nn.Linear(1, 1)
    m = nn.Sequential(one, one)
    assert [n for n, _ in m.named_modules()] == ["", "0"] and len(list(m.modules())) == 2
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(m.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.calls = nn.Linear(2, 2), 0

    def forward(self, x):
        self.calls += 1
        return self.fc(x)

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def test_extra_state(tmp_path):
    a, b = nn.Sequential(Counting()), nn.Sequential(Counting())
    a(dy.ones(1, 2))
    assert list(a.state_dict()) == ["0._extra_state", "0.fc.weight", "0.fc.bias"]
    b.load_state_dict(a.state_dict())
    assert b[0].calls == 1
    with pytest.raises(RuntimeError, match="missing 0._extra_state"):
        b.load_state_dict({k: v for k, v in a.state_dict().items() if "extra" not in k})
    a(dy.ones(1, 2))
    Checkpoint(tmp_path, model=a).save(1)
    Checkpoint(tmp_path, model=b).resume()
    assert b[0].calls == 2


def test_state_hooks_and_renaming():
    m = nn.Linear(1, 1)
    m.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update({prefix + "more": dy.zeros(1)}))
    handle = m.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
    assert list(m.state_dict(prefix="m.")) == ["m.weight", "m.bias", "m.more"]
    m.load_state_dict(m.state_dict())
    handle.remove()
    with pytest.raises(RuntimeError, match="unexpected more"):
        m.load_state_dict(m.state_dict())

    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(dy.zeros(2))

        def _load_from_state_dict(self, state, prefix, *args):
            if prefix + "old" in state:
                state[prefix + "w"] = state.pop(prefix + "old")
            super()._load_from_state_dict(state, prefix, *args)

    r = nn.Sequential(Renamed())
    r.load_state_dict({"0.old": dy.ones(2)})
    assert r[0].w.tolist() == [1, 1]


def test_assign_and_to_empty():
    m = nn.Sequential(nn.Linear(2, 2, device="meta"), nn.BatchNorm1d(2, device="meta"))
    state = nn.Sequential(nn.Linear(2, 2, dtype="f64"), nn.BatchNorm1d(2)).state_dict()
    m.load_state_dict(state, assign=True)
    assert m[0].weight.dtype == dy.float64 and (m[0].weight == state["0.weight"]).all() and m[0].weight.requires_grad
    tied = nn.Sequential(nn.Linear(2, 2, device="meta"), nn.Linear(2, 2, device="meta"))
    tied[1].weight = tied[0].weight
    tied.to_empty(device="cpu")
    assert tied[0].weight.device.type == "cpu" and tied[0].weight is tied[1].weight


def test_backward_pre_hook():
    m, seen = nn.Linear(1, 1), []
    m.register_full_backward_pre_hook(lambda module, gradients: seen.append(len(gradients)) or (gradients[0] * 2,))
    m(dy.ones(1, 1)).sum().backward()
    assert seen == [1] and m.bias.grad.tolist() == [2]


@pytest.mark.parametrize("made", [nn.Linear(3, 2), nn.Conv2d(1, 2, 3), nn.LSTM(2, 3), nn.LayerNorm(4), nn.Embedding(3, 2), nn.PReLU()])
def test_reset_parameters(made):
    like = type(made)(*{"Linear": (3, 2), "Conv2d": (1, 2, 3), "LSTM": (2, 3), "LayerNorm": (4,), "Embedding": (3, 2), "PReLU": ()}[type(made).__name__])
    dy.manual_seed(3)
    made.reset_parameters()
    dy.manual_seed(3)
    like.reset_parameters()
    for a, b in zip(made.parameters(), like.parameters()):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_running_statistics_begin_anew():
    m = nn.BatchNorm1d(2)
    m(dy.randn(4, 2))
    m.reset_running_stats()
    assert m.running_mean.tolist() == [0, 0] and m.num_batches_tracked.item() == 0
    assert isinstance(m, nn.modules.batchnorm._BatchNorm) and [n for n, _ in nn.BatchNorm2d(2, bias=False).named_parameters()] == ["weight"]


def test_parametrized_modules_are_copied():
    m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    x = dy.ones(1, 2)
    for q in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        np.testing.assert_array_equal(q(x).detach().numpy(), m(x).detach().numpy())
        assert list(q.state_dict()) == list(m.state_dict())
        with dy.no_grad():
            q.parametrizations.weight.original0.mul_(2)
        assert (q.weight == 2 * m.weight).all()


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley"])
def test_orthogonal(shape, how):
    dy.manual_seed(0)
    m = nn.Linear(shape[1], shape[0], bias=False)
    nn.utils.parametrizations.orthogonal(m, orthogonal_map=how)
    optimizer = optim.SGD(m.parameters(), lr=0.1)
    before = m.weight.detach().numpy().copy()
    for _ in range(3):
        optimizer.zero_grad()
        ((m(dy.ones(1, shape[1])) - 1) ** 2).sum().backward()
        optimizer.step()
    w = m.weight.detach().numpy()
    gram = w @ w.T if shape[0] <= shape[1] else w.T @ w
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=2e-6)
    assert np.abs(w - before).max() > 1e-3


def test_scaler_remembers_skips_in_a_row():
    p = nn.Parameter(dy.ones(1))
    o = optim.SGD([("p", p)], lr=0.1)
    scaler = dy.amp.GradScaler(max_skips=4)
    for k in range(4):
        p.grad = dy.tensor([float("inf")])
        assert scaler.step(o) is None
        if k == 3:
            with pytest.raises(RuntimeError, match="4 steps in a row"):
                scaler.update()
            break
        scaler.update()
        saved, scaler = scaler.state_dict(), dy.amp.GradScaler(max_skips=4)
        scaler.load_state_dict(saved)


def test_inplace_and_implicit_dims():
    x = dy.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0, 2]
    assert F.leaky_relu(dy.tensor([-1.0]), 0.5, True).tolist() == [-0.5] and F.dropout(dy.ones(3), 0.5, False, True).tolist() == [1] * 3
    y = dy.randn(2, 3, 4)
    with pytest.warns(UserWarning, match="pass dim"):
        assert (F.softmax(y) == F.softmax(y, 0)).all()
    with pytest.warns(UserWarning, match="pass dim"):
        assert (nn.LogSoftmax()(y[0]) == F.log_softmax(y[0], 1)).all()


def test_indices_of_pooling_layers():
    x = dy.randn(1, 2, 4, 4)
    values, indices = nn.MaxPool2d(2, 2, 0, 1, True)(x)
    assert (x.flatten(2).gather(2, indices.flatten(2)) == values.flatten(2)).all()
    assert nn.MaxUnpool2d(2)(values, indices).sum().item() == pytest.approx(values.sum().item(), rel=1e-5)
    assert nn.AdaptiveMaxPool2d(2, return_indices=True)(x)[1].dtype == dy.int64


def test_embeddings_of_bounded_norm():
    e = nn.Embedding(5, 3, max_norm=0.5)
    e(dy.tensor([1, 1, 2]))
    norms = e.weight.detach().norm(2, 1)
    assert norms[1].item() <= 0.5 and norms[2].item() <= 0.5 and norms[[0, 3, 4]].max().item() > 0.5
    table = dy.randn(4, 2)
    assert not nn.Embedding.from_pretrained(table).weight.requires_grad
    assert (nn.EmbeddingBag.from_pretrained(table, mode="sum")(dy.tensor([[1, 2]]))[0] == table[1] + table[2]).all()


def test_masks_stay_masks():
    later = dy.triu(dy.ones(3, 3, dtype=dy.bool), 1)
    assert later.dtype == dy.bool and dy.tril(later).dtype == dy.bool
    m = nn.MultiheadAttention(4, 2)
    x = dy.randn(3, 1, 4)
    weights = m(x, x, x, attn_mask=later)[1][0]
    assert (weights[later] == 0).all()


def test_products_over_nothing():
    assert F.linear(dy.zeros(3, 0), dy.zeros(2, 0), dy.ones(2)).tolist() == [[1, 1]] * 3
    assert F.linear(dy.zeros(3, 0), dy.zeros(2, 0)).tolist() == [[0, 0]] * 3
    x, w, b = (dy.zeros(*shape, requires_grad=True) for shape in ((3, 0), (2, 0), (2,)))
    F.linear(x, w, b).sum().backward()
    assert x.grad.shape == (3, 0) and w.grad.shape == (2, 0) and b.grad.tolist() == [3, 3]


def test_losses_of_their_own():
    a, b, c = dy.randn(4, 3), dy.randn(4, 3), dy.randn(4, 3)
    with_distance = nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(), swap=True)
    assert with_distance(a, b, c).item() == pytest.approx(nn.TripletMarginLoss(swap=True)(a, b, c).item(), rel=1e-5)
    m = nn.LinearCrossEntropyLoss(3, 5, bias=True)
    target = dy.tensor([0, 4, 2, 1])
    assert m(a, target).item() == pytest.approx(F.cross_entropy(m.linear(a), target).item(), rel=1e-6)
    adaptive = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0)
    x, target = dy.randn(6, 8), dy.tensor([0, 2, 3, 5, 6, 11])
    output, loss = adaptive(x, target)
    log_prob = adaptive.log_prob(x)
    np.testing.assert_allclose(log_prob.exp().sum(1).detach().numpy(), np.ones(6), rtol=1e-5)
    np.testing.assert_allclose(output.detach().numpy(), log_prob.gather(1, target.unsqueeze(1)).squeeze(1).detach().numpy(), rtol=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in adaptive.parameters())


class Versioned(nn.Module):
    _version = 3

    def __init__(self):
        super().__init__()
        self.w, self.sub, self.seen = nn.Parameter(dy.zeros(2)), nn.Linear(1, 1), []

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "more"] = dy.ones(1)

    def _load_from_state_dict(self, state, prefix, metadata, strict, missing, unexpected, errors):
        self.seen.append((metadata.get("version"), sorted(state)))
        if state.pop(prefix + "more", None) is None:
            errors.append("more is missing")
        super()._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)


def test_modules_that_save_themselves(tmp_path):
    m = nn.Sequential(Versioned(), nn.ReLU())
    state = m.state_dict()
    assert list(state) == ["0.w", "0.more", "0.sub.weight", "0.sub.bias"]
    assert state._metadata == {"": {"version": 1}, "0": {"version": 3}, "0.sub": {"version": 1}, "1": {"version": 1}}
    dy.save(state, tmp_path / "flat")
    dy.save({"model": state, "epoch": 1}, tmp_path / "tree")
    for given, version in ((state, 3), (dict(state), None), (dy.load(tmp_path / "flat"), 3), (dy.load(tmp_path / "tree")["model"], 3)):
        report = m.load_state_dict(given)
        assert repr(report) == "<All keys matched successfully>" and type(report).__name__ == "_IncompatibleKeys"
        assert m[0].seen.pop() == (version, sorted(state))
    with pytest.raises(RuntimeError, match="more is missing"):
        m.load_state_dict({k: v for k, v in state.items() if "more" not in k}, strict=False)
    state["0.sub.other"] = state.pop("0.sub.bias")
    report = m.load_state_dict(state, strict=False)
    assert report.missing_keys == ["0.sub.bias"] and report.unexpected_keys == ["0.sub.other"]
    with pytest.raises(TypeError, match="takes a dict of tensors, not list"):
        m.load_state_dict([1])
    a, b = nn.Sequential(Versioned()), nn.Sequential(Versioned())
    dy.nn.init.ones_(a[0].w)
    Checkpoint(tmp_path / "run", model=a).save(1)
    Checkpoint(tmp_path / "run", model=b).resume()
    assert b[0].w.tolist() == [1, 1] and b[0].seen


def test_hooks_around_saving_and_loading():
    m, log = nn.Sequential(nn.Linear(1, 1)), []
    m[0].register_state_dict_pre_hook(lambda module, prefix, keep: log.append((prefix, keep)))
    m[0].register_state_dict_post_hook(lambda module, state, prefix, about: log.append((list(state), prefix, about)))
    assert list(m.state_dict()) == ["0.weight", "0.bias"]
    assert log == [("0.", False), (["0.weight", "0.bias"], "0.", {"version": 1})]
    m[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: state.update({prefix + "bias": state.pop(prefix + "b")}))
    m.register_load_state_dict_post_hook(lambda module, keys: log.append(keys))
    m.load_state_dict({"0.weight": dy.ones(1, 1), "0.b": dy.ones(1)})
    assert m[0].bias.item() == 1 and log[-1] == ([], [])


def test_states_that_do_not_count_batches():
    m = nn.BatchNorm1d(2)
    state = {key: dy.ones(2) for key in ("weight", "bias", "running_mean", "running_var")}
    m.load_state_dict(state)
    assert m.running_mean.tolist() == [1, 1] and m.num_batches_tracked == 0
