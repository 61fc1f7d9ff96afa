"""Layers that begin by nn.Module.__init__ alone: they have what is assigned, and say what is missing."""
import copy
import pickle

import pytest

import dyadic as dy
from dyadic import nn


class RawLinear(nn.Linear):
    def __init__(self, i, o):
        nn.Module.__init__(self)
        self.in_features, self.out_features = i, o
        self.weight = nn.Parameter(dy.ones(o, i))
        self.register_parameter("bias", None)


class RawConv(nn.Conv2d):
    def __init__(self):
        nn.Module.__init__(self)
        self.in_channels, self.out_channels, self.kernel_size = 1, 1, (2, 2)
        self.stride, self.padding, self.dilation, self.groups = (1, 1), (1, 1), (1, 1), 1
        self.transposed, self.output_padding, self.padding_mode = False, (0, 0), "zeros"
        self.weight, self.bias = nn.Parameter(dy.ones(1, 1, 2, 2)), nn.Parameter(dy.ones(1))


def test_a_linear_layer_of_assigned_parts():
    r = RawLinear(2, 3)
    assert repr(r) == "RawLinear(in_features=2, out_features=3, bias=False)"
    assert r(dy.ones(1, 2)).tolist() == [[2, 2, 2]]
    assert [name for name, _ in r.named_parameters()] == ["weight"]
    assert nn.Sequential(r, nn.ReLU())(dy.ones(1, 2)).tolist() == [[2, 2, 2]]


def test_a_convolution_of_assigned_parts():
    r = RawConv()
    assert repr(r) == "RawConv(1, 1, kernel_size=(2, 2), stride=(1, 1), padding=(1, 1))"
    assert r(dy.ones(1, 1, 2, 2)).tolist() == [[[[2, 3, 2], [3, 5, 3], [2, 3, 2]]]]


def test_an_embedding_and_a_norm_of_assigned_parts():
    e = nn.Embedding.__new__(nn.Embedding)
    nn.Module.__init__(e)
    e.num_embeddings, e.embedding_dim, e.padding_idx, e.max_norm = 3, 2, None, None
    e.norm_type, e.scale_grad_by_freq, e.sparse = 2.0, False, False
    e.weight = nn.Parameter(dy.arange(6.0).reshape(3, 2))
    assert e(dy.tensor([2, 0])).tolist() == [[4, 5], [0, 1]]
    n = nn.LayerNorm.__new__(nn.LayerNorm)
    nn.Module.__init__(n)
    n.normalized_shape, n.eps, n.elementwise_affine, n.weight, n.bias = (2,), 0.0, False, None, None
    assert n(dy.tensor([[1.0, 3.0]])).tolist() == [[-1, 1]]


@pytest.mark.parametrize("made", [lambda r: copy.deepcopy(r), lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_of_one_is_like_it(made):
    for raw, x in ((RawLinear(2, 3), dy.ones(1, 2)), (RawConv(), dy.ones(1, 1, 2, 2))):
        other = made(raw)
        assert repr(other) == repr(raw) and other(x).tolist() == raw(x).tolist()


def test_a_copy_takes_no_random_numbers():
    m = nn.Sequential(nn.Linear(2, 2), nn.Conv2d(1, 1, 1), nn.LSTM(2, 2))
    dy.manual_seed(1)
    expected = dy.rand(1).item()
    dy.manual_seed(1)
    copy.deepcopy(m)
    assert dy.rand(1).item() == expected


CLASSES = "Linear Conv2d ConvTranspose1d Embedding EmbeddingBag LayerNorm RMSNorm GroupNorm LSTM GRUCell Bilinear PReLU"


@pytest.mark.parametrize("name", (CLASSES + " MultiheadAttention TransformerEncoderLayer").split())
@pytest.mark.parametrize("x", [dy.ones(1, 2), dy.ones(1, 1, 2, 2), dy.ones(2, dtype=dy.int64)], ids=["rows", "image", "indices"])
def test_without_parts_it_says_so(name, x):
    r = getattr(nn, name).__new__(getattr(nn, name))
    nn.Module.__init__(r)
    assert list(r.parameters()) == [] and r.training
    with pytest.raises((AttributeError, RuntimeError, TypeError, ValueError)) as e:
        r(x)
    assert str(e.value).count("\n") == 0


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "LSTM", "Sequential"])
@pytest.mark.parametrize("use", [repr, lambda r: r(dy.ones(1, 2)), lambda r: list(r.parameters()), lambda r: r.state_dict(), copy.deepcopy])
def test_before_any_init_it_says_so(name, use):
    r = getattr(nn, name).__new__(getattr(nn, name))
    with pytest.raises(AttributeError, match=r"__init__ has not run: call super\(\).__init__\(\) first"):
        use(r)


class Both(nn.Linear):
    def __init__(self, first):
        first(self)
        nn.Linear.__init__(self, 2, 3)


@pytest.mark.parametrize("first", [lambda m: nn.Module.__init__(m), lambda m: nn.Linear.__init__(m, 4, 4, False)])
def test_a_layers_own_init_begins_from_anew(first):
    m = Both(first)
    assert m.in_features == 2 and [tuple(p.shape) for p in m.parameters()] == [(3, 2), (3,)]
    assert m(dy.ones(1, 2)).shape == (1, 3)


def test_own_inits_of_other_layers_and_containers_from_anew():
    conv = nn.Conv2d(1, 2, 3)
    conv.register_forward_hook(lambda *_: dy.zeros(1))
    conv.__init__(2, 1, 1)
    assert conv.weight.shape == (1, 2, 1, 1) and conv(dy.ones(1, 2, 3, 3)).shape == (1, 1, 3, 3)
    conv.register_forward_hook(lambda *_: dy.zeros(7))
    assert conv(dy.ones(1, 2, 3, 3)).shape == (7,)
    m = nn.Sequential(nn.ReLU(), nn.Tanh())
    m.__init__(nn.Sigmoid())
    assert len(m) == 1 and m(dy.zeros(1)).item() == 0.5


def test_init_of_module_again_forgets_all_entries():
    m = nn.Linear(2, 2)
    m.extra, m.child = 3, nn.ReLU()
    m.register_buffer("b", dy.ones(1))
    m.eval()
    nn.Module.__init__(m)
    assert list(m.parameters()) == [] and list(m.buffers()) == [] and list(m.children()) == []
    assert m.training and m.extra == 3 and not hasattr(m, "weight") and not hasattr(m, "child")


@pytest.mark.parametrize("use", [lambda m, c: setattr(m, "c", c), lambda m, c: m.add_module("c", c), lambda m, c: m.append(c), lambda m, c: nn.Sequential(c)])
def test_what_has_not_begun_is_no_part_of_others(use):
    with pytest.raises(AttributeError, match="Linear: __init__ has not run"):
        use(nn.ModuleList(), nn.Linear.__new__(nn.Linear))
