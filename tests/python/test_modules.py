"""Recurrent layers, attention, transformers and other modules against what PyTorch computes; what modules can do as objects."""
import copy
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F

DATA = Path(__file__).with_name("data")
sys.path.insert(0, str(DATA))
from modules_cases import CASES, float_results, inputs_of, mode_of  # noqa: E402


def _reference():
    with np.load(DATA / "modules.npz") as file:
        values, at, all = file["values"], 0, {}
        for name, shape in json.loads(str(file["shapes"])).items():
            n = int(np.prod(shape))
            all[name] = values[at : at + n].reshape(shape)
            at += n
    return all


REFERENCE = _reference()


def _of(name, kind):
    prefix = f"{name}/{kind}/"
    return {key[len(prefix) :]: v for key, v in REFERENCE.items() if key.startswith(prefix)}


def _close(mine, theirs, what):
    np.testing.assert_allclose(mine.detach().numpy(), theirs, rtol=2e-6, atol=2e-6, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_is_what_pytorch_computes(name):
    case = CASES[name]
    m = eval(case["make"], {"nn": nn}).double()
    state = _of(name, "state")
    assert list(m.state_dict()) == list(state)
    m.load_state_dict({key: dy.from_numpy(v) for key, v in state.items()})
    getattr(m, mode_of(case))()
    x = {key: dy.from_numpy(v) for key, v in inputs_of(case).items()}
    for v in x.values():
        if v.dtype is dy.float64:
            v.requires_grad_()
    outputs = float_results(eval(case["call"], {"m": m, "nn": nn, **x}))
    expected = _of(name, "out")
    assert [tuple(o.shape) for o in outputs] == [v.shape for v in expected.values()]
    for o, v in zip(outputs, expected.values()):
        _close(o, v, "output")
    sum((o**2).sum() for o in outputs).backward()
    tensors = {**dict(m.named_parameters()), **x}
    gradients = _of(name, "grad")
    assert {key for key, t in tensors.items() if t.grad is not None} == set(gradients)
    for key, v in gradients.items():
        _close(tensors[key].grad, v, key)


def test_attention_masks_and_dropout():
    q, k, v = dy.randn(2, 3, 4), dy.randn(2, 5, 4), dy.randn(2, 5, 4)
    mask = dy.tensor([[True, False, True, True, False]] * 3)
    expected = F.softmax((q @ k.transpose(-2, -1) / 2).masked_fill(~mask, float("-inf")), dim=-1) @ v
    np.testing.assert_allclose(F.scaled_dot_product_attention(q, k, v, mask).numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    blind = F.scaled_dot_product_attention(q, k, v, dy.zeros(3, 5) > 0)
    assert (blind == 0).all()
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    lower = dy.tril(dy.ones(3, 3)) > 0
    np.testing.assert_allclose(F.scaled_dot_product_attention(q, q, q, lower).numpy(), causal.numpy(), rtol=1e-5, atol=1e-6)
    assert (F.scaled_dot_product_attention(q, k, v, dropout_p=1.0) == 0).all()
    with pytest.raises(RuntimeError, match="exclude each other"):
        F.scaled_dot_product_attention(q, q, q, lower, is_causal=True)


def test_attention_is_causal_without_a_mask():
    m, x = nn.MultiheadAttention(4, 2, batch_first=True), dy.randn(2, 5, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    expected, weights = m(x, x, x, attn_mask=mask)
    for need in (True, False):
        got, w = m(x, x, x, need_weights=need, is_causal=True)
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
        assert (w is None) == (not need)
    assert (weights.triu(1) == 0).all() and tuple(weights.shape) == (2, 5, 5)


def test_recurrent_layers_say_what_is_wrong():
    m = nn.LSTM(3, 4)
    for call, text in (
        (lambda: m(dy.zeros(2, 2, 4)), r"LSTM: input is \[T, N, 3\]"),
        (lambda: m(dy.zeros(2, 2, 3), (dy.zeros(1, 1, 4), dy.zeros(1, 2, 4))), r"h is f32\[1, 1, 4\], \[1, 2, 4\] is needed"),
        (lambda: nn.RNN(2, 2, nonlinearity="sin"), "unknown nonlinearity"),
        (lambda: nn.LSTM(2, 2, proj_size=2), "proj_size is below hidden_size"),
        (lambda: nn.MultiheadAttention(5, 2), "num_heads does not divide embed_dim"),
        (lambda: nn.Conv1d(1, 1, 1, padding_mode="mirror"), "unknown padding_mode"),
        (lambda: nn.GELU("erf"), "unknown approximate"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "padding_idx is no row"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=text):
            call()


def test_recurrent_layers_begin_and_drop_as_told():
    m = nn.GRU(3, 16, num_layers=2, dropout=0.5)
    assert all(abs(p).max().item() <= 0.25 for p in m.parameters()) and m.hidden_size == 16 and m.bias is True
    x = dy.randn(4, 2, 3)
    assert not (m(x)[0] == m(x)[0]).all()
    m.eval()
    assert (m(x)[0] == m(x)[0]).all()
    assert (nn.Embedding(4, 2, padding_idx=1).weight[1] == 0).all()


def test_state_that_does_not_fit_is_listed():
    m = nn.Linear(2, 3)
    state = {"wieght": dy.zeros(3, 2), "bias": dy.zeros(4)}
    with pytest.raises(RuntimeError) as error:
        m.load_state_dict(state)
    text = str(error.value)
    for part in ("3 keys", "missing weight (f32[3, 2]; nearest there: wieght)", "unexpected wieght (nearest here: weight)", "f32[4]"):
        assert part in text
    report = m.load_state_dict({"bias": dy.zeros(3), "other": dy.zeros(1)}, strict=False)
    assert report.missing_keys == ["weight"] and report.unexpected_keys == ["other"] and (m.bias == 0).all()


def test_buffers_that_are_not_saved():
    m = nn.Module()
    m.register_buffer("kept", dy.zeros(2))
    m.register_buffer("mask", dy.ones(2), persistent=False)
    assert list(m.state_dict()) == ["kept"] and [n for n, _ in m.named_buffers()] == ["kept", "mask"]
    m.load_state_dict({"kept": dy.ones(2)})
    assert [n for n, _ in copy.deepcopy(m).named_buffers()] == ["kept", "mask"] and list(copy.deepcopy(m).state_dict()) == ["kept"]
    assert m.get_memory_footprint() == 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 3, 3, padding="same")
        self.blocks = nn.ModuleList([nn.Linear(3, 3, bias=False), nn.LayerNorm(3)])
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.GELU("tanh"))
        self.byname = nn.ModuleDict({"norm": nn.BatchNorm1d(4)})
        self.gain = nn.Parameter(dy.ones(3), requires_grad=False)
        self.steps = [1, 2]

    def forward(self, x):
        y = self.conv(x).transpose(1, 2)
        for block in self.blocks:
            y = block(y)
        return self.byname["norm"](self.rest(y)) * self.gain


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_modules_are_values(duplicate):
    m = Net()
    m.byname["norm"].eval()
    m.conv.requires_grad_(False)
    other = duplicate(m)
    assert list(other.state_dict()) == list(m.state_dict()) and repr(other) == repr(m) and other.steps == [1, 2]
    assert [p.requires_grad for p in other.parameters()] == [p.requires_grad for p in m.parameters()]
    assert other.training and not other.byname["norm"].training and other.conv.padding == m.conv.padding
    m.eval(), other.eval()
    x = dy.randn(2, 2, 4)
    assert (m(x) == other(x)).all()
    other.blocks[0].weight.detach().zero_()
    assert not (m.blocks[0].weight == 0).all()


def test_conversions():
    m = nn.LSTM(2, 2)
    assert m.to(dtype=dy.float64) is m and m.weight_hh_l0.dtype is dy.float64
    assert m.to("cpu", dy.bfloat16).weight_hh_l0.dtype is dy.bfloat16 and m.float().bias_ih_l0.dtype is dy.float32
    with pytest.raises(TypeError, match="unknown argument speed"):
        m.to(speed=1)
    y, (h, c) = m.half()(dy.randn(3, 1, 2).half())
    assert y.dtype is dy.float16 and h.dtype is dy.float16 and c.dtype is dy.float16


def test_tied_parameters_stay_tied():
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    m[1].weight = m[0].weight
    other = pickle.loads(pickle.dumps(m))
    assert other[1].weight is other[0].weight and other[0].weight is not m[0].weight


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64", "bool", "f8e4m3fn", "nf4", "q4_0", "i8(row)"])
def test_tensors_are_values(dtype):
    t = (dy.randn(4, 64) * 10).to(dy.dtype(dtype))
    other = pickle.loads(pickle.dumps(t))
    assert other.dtype is t.dtype and other.shape == t.shape and (other.to(dy.float32) == t.to(dy.float32)).all()
    if not t.dtype.is_scaled:
        assert (pickle.loads(pickle.dumps(t.T[3:])).to(dy.float32) == t.T[3:].to(dy.float32)).all()
    with pytest.raises(ValueError, match="meta"):
        pickle.dumps(dy.empty(2, device="meta"))


def test_gradients_clipped_and_vectors():
    m = nn.Linear(2, 2)
    for p in m.parameters():
        p.grad = dy.ones(p.shape) * 3
    assert abs(nn.utils.clip_grad_norm_(m.parameters(), 1.0, norm_type=1.0) - 18) < 1e-5
    assert abs(sum(p.grad.abs().sum().item() for p in m.parameters()) - 1) < 1e-4
    m.weight.grad = dy.tensor([[5.0, -5], [0.5, 0]])
    nn.utils.clip_grad_value_(m.parameters(), 1.0)
    assert m.weight.grad.tolist() == [[1, -1], [0.5, 0]]
    assert nn.utils.get_total_norm([dy.tensor([3.0, -4.0])], float("inf")) == 4
    m.weight.grad = dy.tensor([[float("inf"), 0], [0, 0]])
    with pytest.raises(RuntimeError, match="norm is inf"):
        nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)
    v = nn.utils.parameters_to_vector(m.parameters())
    assert tuple(v.shape) == (6,)
    nn.utils.vector_to_parameters(v * 0, m.parameters())
    assert (m.weight == 0).all() and (m.bias == 0).all()
    with pytest.raises(ValueError, match="6 elements"):
        nn.utils.vector_to_parameters(dy.zeros(5), m.parameters())


def _kinds(m):
    return [(name, type(child).__name__) for name, child in m.named_children()]


@pytest.mark.parametrize("make", [lambda *m: nn.ModuleList(m), nn.Sequential], ids=["ModuleList", "Sequential"])
def test_modules_by_number_stay_whole(make):
    m = make(nn.ReLU(), nn.Tanh())
    m.insert(0, nn.Sigmoid())
    m.append(nn.ELU())
    m += [nn.GELU()]
    assert _kinds(m) == [("0", "Sigmoid"), ("1", "ReLU"), ("2", "Tanh"), ("3", "ELU"), ("4", "GELU")] and len(m) == 5
    del m[0]
    assert m.pop(0).__class__ is nn.ReLU
    m.extend(m)
    m.insert(-1, nn.SiLU())
    assert [type(c).__name__ for c in m] == ["Tanh", "ELU", "GELU", "Tanh", "ELU", "SiLU", "GELU"]
    assert list(m._modules) == [str(i) for i in range(7)] and repr(m._modules.keys()) == "odict_keys(['0', '1', '2', '3', '4', '5', '6'])"
    for index in (8, -8):
        with pytest.raises(IndexError, match=f"insert: {index} is out of range: there are 7 modules"):
            m.insert(index, nn.ELU())
    with pytest.raises(TypeError, match="takes a module, not int"):
        m.insert(0, 3)
    m = make(nn.ReLU(), nn.Tanh())
    assert len(m * 2) == 4 and len(2 * m) == 4 and len(m) == 2
    m *= 2
    assert [type(c).__name__ for c in m] == ["ReLU", "Tanh"] * 2
    with pytest.raises(ValueError, match="the factor is 0"):
        m * 0


def test_shared_modules_are_one_child():
    shared, seen = nn.ReLU(), []
    m = nn.Sequential(shared, shared, nn.Tanh())
    m.apply(lambda part: seen.append(type(part).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential"] and [name for name, _ in m.named_children()] == ["0", "2"]
    assert len(m) == 3 and len(list(m)) == 3 and len(list(m.children())) == 2 and list(m._modules) == ["0", "1", "2"]
    copied = copy.deepcopy(m)
    assert copied[0] is copied[1] and copied[0] is not copied[2]


def test_overridden_apply_is_called():
    class Kept(nn.Linear):
        def apply(self, fn):
            return self

    seen = []
    nn.Sequential(Kept(1, 1), nn.ReLU()).apply(seen.append)
    assert [type(part).__name__ for part in seen] == ["ReLU", "Sequential"]


def test_parameters_in_lists_and_dicts_as_they_print():
    m = nn.Module()
    m.list = nn.ParameterList([dy.zeros(1), 3])
    m.dict = nn.ParameterDict({"b": dy.zeros(2), "a": nn.Linear(1, 1)})
    assert repr(m) == "\n".join(
        [
            "Module(",
            "  (list): ParameterList(",
            "      (0): Parameter containing: [dyadic.float32 of size 1]",
            "      (1): Object of type: int",
            "  )",
            "  (dict): ParameterDict(",
            "      (a): Object of type: Linear",
            "      (b): Parameter containing: [dyadic.FloatTensor of size 2]",
            "    (a): Linear(in_features=1, out_features=1, bias=True)",
            "  )",
            ")",
        ]
    )
    assert repr(nn.ParameterList()) == "ParameterList()" and list(m.dict) == ["a", "b"]
    with pytest.raises(TypeError, match="ParameterList.extend: it takes several"):
        m.list.extend(3)


@pytest.mark.parametrize("persistent", [True, False])
def test_buffers_that_come_later(persistent):
    m = nn.Module()
    m.register_buffer("a", None, persistent=persistent)
    assert m.a is None and list(m._buffers) == ["a"] and not list(m.buffers()) and not m.state_dict()
    m = copy.deepcopy(m)
    m.a = None
    with pytest.raises(TypeError, match="a is a buffer: assign a Tensor or None, not int"):
        m.a = 3
    m.a = dy.ones(2)
    assert [n for n, _ in m.named_buffers()] == ["a"] and list(m.state_dict()) == ["a"] * persistent and m.a.sum() == 2
    del m.a
    assert not hasattr(m, "a") and not m._buffers


def test_parameters_that_come_later():
    m = nn.Module()
    m.register_parameter("w", None)
    assert m.w is None and list(m._parameters.items()) == [("w", None)] and not list(m.parameters())
    with pytest.raises(TypeError, match="w is a parameter: assign an nn.Parameter or None, not dyadic.Tensor"):
        m.w = dy.zeros(1)
    for other in (copy.copy(m), pickle.loads(pickle.dumps(m))):
        other.w = nn.Parameter(dy.ones(1))
        assert [n for n, _ in other.named_parameters()] == ["w"] and m.w is None and list(m._parameters) == ["w"]
    del m.w
    m.w = dy.zeros(1)
    assert not m._parameters and not m._buffers and m.w == 0


def test_layers_name_what_they_are_made_without():
    assert list(nn.Linear(2, 2, bias=False)._parameters) == ["weight", "bias"] and list(nn.ReLU()._parameters) == []
    norm = nn.BatchNorm1d(2, affine=False, track_running_stats=False)
    assert norm._parameters == {"weight": None, "bias": None} and list(norm._buffers) == ["running_mean", "running_var", "num_batches_tracked"]

    class Plain(nn.Linear):
        def __init__(self):
            super().__init__(2, 3)
            self.register_parameter("bias", None)

    assert Plain().bias is None and Plain()(dy.ones(1, 2)).shape == (1, 3)


def test_names_in_use_are_refused():
    m = nn.Linear(2, 2)
    m.count = 3
    m.register_buffer("seen", dy.zeros(1))
    m.register_buffer("seen", dy.ones(1))
    for register, name, value in (
        (m.register_buffer, "count", dy.zeros(1)),
        (m.register_buffer, "weight", dy.zeros(1)),
        (m.register_parameter, "seen", nn.Parameter(dy.zeros(1))),
        (m.add_module, "seen", nn.ReLU()),
    ):
        with pytest.raises(KeyError, match=name):
            register(name, value)
    assert m.seen == 1 and m.count == 3


def test_sequential_passes_on_whatever_there_is():
    class Swap(nn.Module):
        def forward(self, pair):
            return pair[1], pair[0]

    a, b = dy.zeros(1), dy.ones(1)
    assert nn.Sequential(Swap(), nn.Sequential(Swap()), Swap())((a, b)) == (b, a) and nn.Sequential()(3) == 3
    output, (h, c) = nn.Sequential(nn.ReLU(), nn.LSTM(2, 3))(dy.ones(4, 1, 2))
    assert output.shape == (4, 1, 3) and c.shape == (1, 1, 3)

    class Doubled(nn.Sequential):
        def forward(self, x):
            return super().forward(x) * 2

    assert Doubled(nn.ReLU(), nn.Identity())(b) == 2


def test_modules_without_a_forward():
    class Unfinished(nn.Module):
        pass

    for m in (nn.Module(), nn.ModuleList([nn.ReLU()]), nn.ModuleDict(), nn.ParameterList(), Unfinished(), nn.Sequential(Unfinished())):
        with pytest.raises(NotImplementedError, match='"forward" is missing'):
            m(dy.ones(1))


def test_norms_of_gradients_have_their_dtype():
    p = nn.Parameter(dy.zeros(4, dtype=dy.float64))
    for norm_type, norm in ((2, 5.0), (0, 1.0), (float("-inf"), 0.0), ("inf", 4.0)):
        p.grad = dy.tensor([3.0, 0, 4, 0], dtype=dy.float64)
        got = nn.utils.clip_grad_norm_([p], 2.5, norm_type)
        assert got.dtype is dy.float64 and abs(got - norm) < 1e-12 and abs(p.grad.max() - 4 * min(1, 2.5 / (norm or 1))) < 1e-5
