"""Modules: a tree of parameters, its attributes, lifetimes, state."""
import copy
import gc
import weakref

import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.up = nn.Linear(4, width)
        self.act = nn.GELU()
        self.down = nn.Linear(width, 2, bias=False)
        self.scale = nn.Parameter(dy.ones(2))
        self.register_buffer("seen", dy.zeros(1))
        self.width = width

    def forward(self, x, twice=False):
        self.seen += 1
        y = self.down(self.act(self.up(x))) * self.scale
        return y * 2 if twice else y


def test_module_tree():
    m = Mlp()
    names = [name for name, _ in m.named_parameters()]
    assert names == ["scale", "up.weight", "up.bias", "down.weight"]
    assert len(list(m.parameters())) == 4 and all(isinstance(p, nn.Parameter) and p.requires_grad for p in m.parameters())
    assert m.up.weight is m.up.weight and m.scale is dict(m.named_parameters())["scale"] and m.down.bias is None
    assert [n for n, _ in m.named_modules()] == ["", "up", "act", "down"] and next(m.children()) is m.up
    assert [n for n, _ in m.named_children()] == ["up", "act", "down"] and next(m.modules()) is m
    assert [n for n, _ in m.named_buffers()] == ["seen"] and m.width == 8
    assert m.num_parameters() == 2 + 32 + 8 + 16 and m.nbytes() == 4 * (58 + 1)
    assert "(up): Linear(in_features=4, out_features=8, bias=True)" in repr(m)
    assert "(up) Linear(in_features=4, out_features=8, bias=True)" in m.summary() and "160 B" in m.summary()
    x = dy.randn(3, 4)
    assert (m(x, twice=True) == m(x) * 2).all() and m.seen.item() == 2
    with pytest.raises(AttributeError, match="nothing"):
        m.nothing
    with pytest.raises(TypeError):
        m()


def test_attributes_register_replace_and_vanish():
    m = Mlp()
    m.up = nn.Linear(4, 16)
    assert [n for n, _ in m.named_children()] == ["up", "act", "down"] and m.up.out_features == 16
    m.scale = nn.Parameter(dy.zeros(2))
    assert m.scale.tolist() == [0, 0] and len(list(m.parameters())) == 4
    m.down.weight = nn.Parameter(dy.ones(2, 16))
    assert m(dy.ones(1, 4)).shape == (1, 2)
    with pytest.raises(TypeError, match="scale is a parameter"):
        m.scale = dy.ones(2)
    with pytest.raises(TypeError, match="up is a module"):
        m.up = 3
    with pytest.raises(TypeError, match="weight is a parameter"):
        m.down.weight = dy.ones(2)
    del m.scale
    with pytest.raises(AttributeError):
        m.scale
    m.act = None
    assert m.act is None and [n for n, _ in m.named_children()] == ["up", "down"]
    m.seen = dy.ones(1) * 5
    assert dict(m.named_buffers())["seen"].item() == 5
    m.up.bias = None
    assert m.up.bias is None and [n for n, _ in m.up.named_parameters()] == ["weight"]
    m.note = "text"
    assert m.note == "text" and "note" in vars(m)


def test_names_that_are_refused():
    m = nn.Module()
    p, b = nn.Parameter(dy.ones(1)), dy.ones(1)
    for register, value in ((m.register_parameter, p), (m.register_buffer, b), (m.add_module, nn.ReLU())):
        for name in ("a.b", "", "forward"):
            with pytest.raises(KeyError, match="name"):
                register(name, value)
        with pytest.raises(TypeError, match="it takes"):
            register("x", 3)
        register("x", None)
        register("x", value)
        delattr(m, "x")
    with pytest.raises(ValueError, match="has a dot"):
        setattr(m, "a.b", p)
    assert not m.state_dict()


def test_shared_modules_count_once():
    norm = nn.BatchNorm1d(2)
    m = nn.Sequential(norm, norm)
    assert [n for n, _ in m.named_buffers()] == ["0.running_mean", "0.running_var", "0.num_batches_tracked"]
    assert len(list(m.buffers())) == 3 and len(m.state_dict()) == 10 and len(list(m.modules())) == 2


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.tok.weight

        def forward(self, i):
            return self.head(self.tok(i))

    m = Tied()
    assert [n for n, _ in m.named_parameters()] == ["tok.weight"] and m.num_parameters() == 40
    m(dy.arange(3)).sum().backward()
    assert m.tok.weight.grad is m.head.weight.grad is not None
    assert list(m.state_dict()) == ["tok.weight", "head.weight"]


def test_modules_need_their_initializer():
    class Forgetful(nn.Module):
        def __init__(self):
            self.up = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Forgetful()


def test_lifetimes():
    m = Mlp()
    child, parent = weakref.ref(m.up), weakref.ref(m)
    up = m.up
    del m
    gc.collect()
    assert parent() is None and up(dy.ones(1, 4)).shape == (1, 8)
    del up
    assert child() is None
    m = Mlp()
    m.up.owner = (m,)  # a cycle through what C++ holds
    parent = weakref.ref(m)
    del m
    gc.collect()
    assert parent() is None


def test_state_dict():
    a, b = Mlp(), Mlp()
    state = a.state_dict()
    assert list(state) == ["scale", "seen", "up.weight", "up.bias", "down.weight"]
    b.load_state_dict(state)
    x = dy.randn(2, 4)
    assert (a(x) == b(x)).all()
    broken = dict(state)
    del broken["up.bias"]
    broken["up.wieght"] = dy.zeros(1)
    broken["scale"] = dy.zeros(3)
    with pytest.raises(RuntimeError) as error:
        b.load_state_dict(broken)
    for word in ("missing up.bias", "unexpected up.wieght", "up.weight", "scale is"):
        assert word in str(error.value)
    b.load_state_dict({"scale": dy.zeros(2)}, strict=False)
    assert b.scale.tolist() == [0, 0]


def test_modes_and_conversions():
    m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU())
    assert m.training and m.eval() is m and not m[1].training
    x = dy.randn(100, 4)
    assert (m(x) == m(x)).all()
    assert m.train() is m and not (m(x) == m(x)).all()
    m.requires_grad_(False)
    assert not m[0].weight.requires_grad and isinstance(m[0].weight, nn.Parameter)
    m.requires_grad_()
    m(x).sum().backward()
    assert m[0].weight.grad is not None
    m.zero_grad()
    assert m[0].weight.grad is None
    m.to(dy.bfloat16)
    assert m[0].weight.dtype is dy.bfloat16 and m[0].weight.requires_grad and m(x.bfloat16()).dtype is dy.bfloat16
    m[0].set_parameter("weight", m[0].weight.detach().to("i8(row)"))
    assert m[0].weight.dtype is dy.i8_row


def test_containers():
    class Twice(nn.Module):
        def forward(self, x):
            return x * 2

    s = nn.Sequential(nn.Linear(2, 3), Twice())
    s.append(nn.ReLU())
    assert len(s) == 3 and isinstance(s[1], Twice) and s[-1] is list(s)[2]
    assert [n for n, _ in s.named_parameters()] == ["0.weight", "0.bias"]
    x = dy.randn(5, 2)
    assert (s(x) == F.relu(s[0](x) * 2)).all()
    blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    blocks.append(nn.Linear(2, 1)).extend([])
    assert len(blocks) == 4 and [n for n, _ in blocks.named_parameters()][-1] == "3.bias"
    with pytest.raises(IndexError):
        s[3]
    with pytest.raises(TypeError, match="modules"):
        nn.Sequential(3)
    with pytest.raises(RuntimeError, match="forward"):
        blocks(x)


def test_derived_from_a_library_module():
    class Scaled(nn.Linear):
        def __init__(self, n):
            super().__init__(n, n)
            self.gain = nn.Parameter(dy.full((1,), 3.0))
            self.inner = nn.LayerNorm(n)

        def forward(self, x):
            return super().forward(self.inner(x)) * self.gain

        def extra_repr(self):
            return "scaled"

    m = nn.Sequential(Scaled(4))
    assert [n for n, _ in m.named_parameters()] == ["0.weight", "0.bias", "0.gain", "0.inner.weight", "0.inner.bias"]
    x = dy.randn(2, 4)
    expected = F.linear(F.layer_norm(x, (4,)), m[0].weight, m[0].bias) * 3
    assert (m(x) == expected).all() and "(0): Scaled(\n    scaled\n" in repr(m)


def test_whole_tree_at_once():
    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    seen = []
    assert m.apply(lambda c: seen.append(type(c).__name__)) is m and seen == ["Linear", "ReLU", "Sequential", "Sequential"]
    assert m.to("cpu") is m and m.to(dy.device("cpu")).half()[0].weight.dtype is dy.float16 and m.to("f64")[0].bias.dtype is dy.float64
    with pytest.raises(ValueError, match="to_empty"):
        copy.deepcopy(m).to("meta").to("cpu")
    with pytest.raises(RuntimeError, match="there is no cuda here"):
        m.to(3)
    assert m.to(dy.zeros(1, dtype=dy.bfloat16))[0].weight.dtype is dy.bfloat16
    assert m.to("cpu", dy.float32, True)[0].weight.dtype is dy.float32 and m.to("cpu", non_blocking=True) is m


def test_parameter():
    data = dy.ones(3)
    p = nn.Parameter(data)
    assert isinstance(p, dy.Tensor) and p.requires_grad and p.data_ptr() == data.data_ptr() and not isinstance(data, nn.Parameter)
    assert not isinstance(p.detach(), nn.Parameter) and not isinstance(p * 2, nn.Parameter)
    assert not nn.Parameter(dy.ones(1), requires_grad=False).requires_grad
    with pytest.raises(TypeError):
        nn.Parameter([1.0])
    m = nn.Module()
    m.w = p
    q = weakref.ref(p)
    del p
    assert isinstance(m.w, nn.Parameter) and (q() is None or q() is m.w)
    assert copy.copy(m.w.tolist()) == [1, 1, 1]


def test_parts_by_name_and_state_by_parameter():
    m = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)))
    assert m.get_submodule("1.0") is m[1][0] and m.get_submodule("") is m and m.get_parameter("0.bias") is m[0].bias
    assert m.get_buffer("1.0.running_mean") is m[1][0].running_mean and m.cpu() is m
    for wrong in (lambda: m.get_submodule("2"), lambda: m.get_parameter("0.what"), lambda: m.get_buffer("0.weight")):
        with pytest.raises(AttributeError, match="get_"):
            wrong()
    with pytest.raises(RuntimeError, match="there is no cuda here"):
        m.cuda()
    o = dy.optim.Adam(m.parameters())
    assert len(o.state) == 0
    m(dy.ones(4, 2)).sum().backward()
    o.step()
    assert set(o.state) == set(m.parameters()) and o.state[m[0].bias]["exp_avg"].shape == (3,) and o.state[m[0].bias]["step"] == 1
