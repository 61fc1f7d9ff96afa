"""A forward that was put on a module or its class is the one that runs, whoever calls the module."""
from types import MethodType

import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F

X = dy.ones(1, 2)


def test_in_a_sequential():
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    m[0].forward = lambda x: x * 0 + 7
    assert m(X).tolist() == [[7, 7]]
    del m[0].forward
    assert m(X).tolist() == F.linear(X, m[0].weight, m[0].bias).relu().tolist()


def test_in_a_nested_sequential():
    m = nn.Sequential(nn.Sequential(nn.Sequential(nn.Identity(), nn.Tanh())), nn.ReLU())
    m[0][0][1].forward = lambda x: x * 3
    assert m(X).tolist() == [[3, 3]]
    m = nn.Sequential(nn.Sequential(nn.Tanh()), nn.ReLU())
    m[0].forward = lambda x: x * 5
    assert m(X).tolist() == [[5, 5]]


def circular(self, x):
    return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), self.weight, self.bias)


@pytest.mark.parametrize("bind", [lambda f, m: f.__get__(m), lambda f, m: f.__get__(m, type(m)), MethodType])
def test_a_bound_method(bind):
    m = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1, bias=False), nn.Identity())
    nn.init.ones_(m[0].weight)
    m[0].forward = bind(circular, m[0])
    assert m(dy.ones(1, 1, 2, 2)).tolist() == [[[[9, 9], [9, 9]]]]


def test_in_place_of_a_part_of_a_convolution():
    m = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1, bias=False))
    m[0]._conv_forward = MethodType(lambda self, x, weight, bias: x + 4, m[0])
    assert m(dy.ones(1, 1, 1, 1)).item() == m[0](dy.ones(1, 1, 1, 1)).item() == 5


@pytest.mark.parametrize("name", ["self_attn", "linear2", "norm2", "dropout1"])
@pytest.mark.parametrize("made", [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer])
def test_in_a_transformer_layer(made, name):
    layer = made(2, 1, 4, batch_first=True)
    calls, part = [], getattr(layer, name)
    forward = part.forward

    def patched(*args, **kwargs):
        calls.append(name)
        return forward(*args, **kwargs)

    part.forward = patched
    layer(*[dy.ones(1, 3, 2)] * (1 if made is nn.TransformerEncoderLayer else 2))
    assert calls == [name]


def test_a_block_of_a_transformer_layer():
    layer = nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0, norm_first=True)
    layer._sa_block = lambda x, *masks, **more: x * 0 + 1
    layer._ff_block = lambda x: x * 0 + 2
    assert layer(dy.ones(3, 2)).tolist() == [[4, 4]] * 3


@pytest.mark.parametrize("layer", [nn.Linear, nn.Tanh, nn.Conv2d, nn.LayerNorm], ids=lambda c: c.__name__)
def test_on_a_class(layer, monkeypatch):
    arguments = {nn.Linear: (2, 2), nn.Conv2d: (1, 1, 1), nn.LayerNorm: (2,)}.get(layer, ())
    m = nn.Sequential(layer(*arguments), nn.ReLU())
    expected = m(X.reshape(1, 1, 1, 2)).tolist()
    with monkeypatch.context() as patch:
        patch.setattr(layer, "forward", lambda self, x: x + 8)
        assert m(X).tolist() == m[0](X).tolist() == [[9, 9]]
    assert m(X.reshape(1, 1, 1, 2)).tolist() == expected


def test_the_call_of_all_modules(monkeypatch):
    names, call = [], nn.Module.__call__

    def patched(self, *args, **kwargs):
        names.append(type(self).__name__)
        return call(self, *args, **kwargs)

    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh()))
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__call__", patched)
        m(X)
    assert names == ["Sequential", "Linear", "Sequential", "Tanh"]
    m(X)
    assert len(names) == 4
