"""Entries of modules that are None, buffers by assignment, containers that let go, and what the garbage collector sees."""
import copy
import gc
import weakref

import dyadic as torch
import pytest
from dyadic import nn


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))
        self.register_buffer("b", torch.zeros(1), persistent=False)
        self.c = nn.Linear(1, 1)


def test_none_keeps_the_name():
    m = Parts()
    m.w = m.b = m.c = None
    for m in (m, copy.deepcopy(m)):
        assert dict(m._parameters) == {"w": None} and dict(m._buffers) == {"b": None} and dict(m._modules) == {"c": None}
        assert not m.state_dict() and not list(m.parameters()) and not list(m.children()) and "(c): None" in repr(m)
    for name in "wbc":
        with pytest.raises(TypeError, match=f"{name} is a"):
            setattr(m, name, 3)
    m.w, m.b, m.c = nn.Parameter(torch.ones(2)), torch.ones(2), nn.Linear(2, 2)
    assert list(m.state_dict()) == ["w", "c.weight", "c.bias"] and [n for n, _ in m.named_buffers()] == ["b"]
    del m.w, m.b, m.c
    assert not (m._parameters or m._buffers or m._modules) and not hasattr(m, "w")


def test_none_in_layers():
    linear = nn.Linear(2, 2)
    linear.weight = None
    assert linear.weight is None and list(linear._parameters) == ["weight", "bias"] and list(linear.state_dict()) == ["bias"]
    linear.weight = nn.Parameter(torch.ones(2, 2))
    assert list(linear.state_dict()) == ["weight", "bias"]
    del linear.weight
    assert not hasattr(linear, "weight") and list(linear._parameters) == ["bias"]
    norm = nn.BatchNorm1d(2)
    norm.running_mean = None
    assert list(norm._buffers) == ["running_mean", "running_var", "num_batches_tracked"]


def test_buffer_class():
    m = nn.Module()
    m.a, m.b = nn.Buffer(torch.ones(2)), nn.Buffer(torch.ones(1), persistent=False)
    assert isinstance(m.a, nn.Buffer) and not isinstance(torch.ones(1), nn.Buffer) and nn.Buffer is nn.parameter.Buffer
    assert list(m.state_dict()) == ["a"] and m._non_persistent_buffers_set == {"b"}
    m.b = nn.Buffer(torch.zeros(1))
    assert list(m.state_dict()) == ["a", "b"] and list(m._buffers) == ["a", "b"]


@pytest.mark.parametrize("make", [nn.ModuleList, lambda modules: nn.Sequential(*modules)])
def test_containers_let_go(make):
    modules = [nn.Linear(1, 1) for _ in range(5)]
    gone = [weakref.ref(m) for m in modules]
    container = make(modules)
    del modules
    del container[0]
    container.pop(0)
    del container[0:2]
    container[0] = nn.ReLU()
    gc.collect()
    assert all(m() is None for m in gone) and list(container._modules) == ["0"]


def _collected(make):
    there = make()
    gc.collect()
    return there() is None


def test_cycles_are_collected():
    def of_layer():
        m = nn.Linear(2, 2)
        m.weight.module = m
        return weakref.ref(m)

    def of_itself():
        x = torch.ones(2)
        x.me = x
        return weakref.ref(x)

    def of_hook():
        y = torch.ones(2, requires_grad=True) * 2
        y.register_hook(lambda g: (y, g)[1])
        return weakref.ref(y)

    def of_leaf_hook():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: (x, g)[1])
        return weakref.ref(x)

    def of_layer_hook():
        m = nn.Linear(2, 2)
        m.weight.register_hook(lambda g: (m, g)[1])
        return weakref.ref(m)

    for make in (of_layer, of_itself, of_hook, of_leaf_hook, of_layer_hook):
        assert _collected(make), make.__name__


def test_attributes_stay_while_the_tensor_does():
    m = nn.Linear(2, 2)
    m.weight.tag, m.weight.module = "kept", m
    w = m.weight
    w.more = [w]
    del w
    gc.collect()
    assert m.weight.tag == "kept" and m.weight.more[0] is m.weight

    class Own(nn.Parameter):
        pass

    m.weight = Own(torch.ones(2, 2))
    m.weight.tag = 4
    gc.collect()
    assert type(m.weight) is Own and m.weight.tag == 4 and type(copy.deepcopy(m).weight) is Own


def test_blocks_of_transformer_layers_may_be_overridden():
    class Doubled(nn.TransformerEncoderLayer):
        def _ff_block(self, x):
            return super()._ff_block(x) * 2

    class Silent(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return torch.zeros_like(x)

    x = torch.arange(24.0).reshape(1, 3, 8) / 10
    plain = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    for changed in (Doubled, Silent):
        layer = changed(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
        layer.load_state_dict(plain.state_dict())
        attended = x if changed is Silent else x + plain._sa_block(plain.norm1(x), None, None)
        expected = attended + plain._ff_block(plain.norm2(attended)) * (2 if changed is Doubled else 1)
        assert torch.allclose(layer(x), expected, atol=1e-5)
        stack = nn.TransformerEncoder(layer, 1)
        assert torch.allclose(stack(x), expected, atol=1e-5)


def test_upsampling_by_a_factor_for_each_dimension():
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    up = nn.Upsample(scale_factor=(2, 3), mode="nearest")
    assert up(x).shape == (1, 1, 4, 6) and "scale_factor=(2.0, 3.0)" in repr(up)
