"""Layers made from records, initial values, containers. Values are small enough to be worked out by hand, or follow from another op."""
import copy
import math

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F

ARGUMENTS = {"kernel_size": 2, "output_size": 2, "num_features": 4, "num_channels": 4, "num_groups": 2, "in_channels": 4}
ARGUMENTS |= {"out_channels": 6, "normalized_shape": 5, "size": 3, "norm_type": 2.0, "in1_features": 3, "in2_features": 4}
ARGUMENTS |= {"out_features": 5, "num_embeddings": 7, "embedding_dim": 3, "upscale_factor": 2, "downscale_factor": 2, "groups": 2}
ARGUMENTS |= {"threshold": 0.1, "value": 20.0, "input_size": 3, "hidden_size": 4}
ARGUMENTS |= {"embed_dim": 4, "num_heads": 2, "d_model": 4, "nhead": 2}


def arguments(record):
    return {name: ARGUMENTS[name] for name, _, default in record["parameters"] if not default}


@pytest.mark.parametrize("record", dy._dyadic._layer_records(), ids=lambda r: r["name"])
def test_every_record_makes_a_layer_that_says_what_it_is(record):
    layer = getattr(nn, record["name"])(**arguments(record))
    assert repr(layer).splitlines()[-1].lstrip().startswith(record["name"]) or record["name"] in repr(layer)
    assert record["doc"] in type(layer).__doc__
    for name, kind, default in record["parameters"]:
        value = getattr(layer, name)
        if default == "None":
            others = {"stride": "kernel_size", "kdim": "embed_dim", "vdim": "embed_dim"}  # what stands for None
            assert value is None or value == getattr(layer, others[name])
    assert (len(list(layer.parameters())) > 0) <= record["trained"]


def test_conv_is_the_op_and_its_arguments_are_attributes():
    conv = nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2)
    x = dy.randn(1, 2, 5, 5)
    assert conv.kernel_size == (3, 3) and conv.stride == (2, 2) and conv.groups == 2
    assert tuple(conv.weight.shape) == (4, 1, 3, 3) and tuple(conv.bias.shape) == (4,)
    expected = dy.conv2d(x, conv.weight, conv.bias, 2, 1, 1, 2)
    assert np.array_equal(conv(x).detach().numpy(), expected.detach().numpy())
    bound = 1 / 3
    assert np.abs(conv.weight.detach().numpy()).max() <= bound
    assert nn.Conv2d(2, 4, 3, bias=False).bias is None
    with pytest.raises(ValueError, match="groups do not divide the channels"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_conv_padding_words():
    x = dy.ones(1, 1, 6)
    conv = nn.Conv1d(1, 1, 4, padding="same", bias=False)
    nn.init.ones_(conv.weight)
    assert conv(x).reshape(-1).tolist() == [3, 4, 4, 4, 3, 2]
    assert tuple(nn.Conv1d(1, 1, 4, padding="valid")(x).shape) == (1, 1, 3)
    with pytest.raises(ValueError, match="same"):
        nn.Conv1d(1, 1, 4, 2, "same")


def test_conv_trains_with_its_transpose():
    up, down = nn.ConvTranspose2d(3, 2, 2, stride=2), nn.Conv2d(2, 3, 2, stride=2)
    y = down(up(dy.randn(2, 3, 4, 4)))
    assert tuple(y.shape) == (2, 3, 4, 4)
    y.sum().backward()
    assert all(p.grad is not None for p in [*up.parameters(), *down.parameters()])


def test_batch_norm_moves_its_statistics_in_training_only():
    norm = nn.BatchNorm1d(2, momentum=0.5)
    x = dy.tensor([[1.0, 0.0], [3.0, 4.0]])
    y = norm(x).detach().numpy()
    assert np.allclose(y, [[-1, -1], [1, 1]], atol=1e-4)
    assert np.allclose(norm.running_mean.numpy(), [1, 1])
    assert np.allclose(norm.running_var.numpy(), [0.5 + 1, 0.5 + 4], atol=1e-4)
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    before = norm.running_mean.tolist()
    expected = (x.numpy() - norm.running_mean.numpy()) / np.sqrt(norm.running_var.numpy() + 1e-5)
    assert np.allclose(norm(x).detach().numpy(), expected, atol=1e-5)
    assert norm.running_mean.tolist() == before and norm.num_batches_tracked.item() == 1
    assert sorted(norm.state_dict()) == ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"]


def test_batch_norm_without_momentum_averages_all_batches():
    norm = nn.BatchNorm1d(1, momentum=None)
    for mean in (1.0, 2.0, 6.0):
        norm(dy.tensor([[mean - 1], [mean + 1]]))
    assert norm.running_mean.item() == pytest.approx(3)


def test_batch_norm_without_statistics_normalizes_in_evaluation_too():
    norm = nn.BatchNorm1d(1, affine=False, track_running_stats=False).eval()
    assert norm.weight is None and norm.running_mean is None
    assert np.allclose(norm(dy.tensor([[1.0], [3.0]])).numpy(), [[-1], [1]], atol=1e-4)


def test_dropout_of_channels():
    layer = nn.Dropout2d(0.5)
    y = layer(dy.ones(8, 16, 2, 2)).numpy()
    assert set(np.unique(y)) == {0.0, 2.0} and (y.min((2, 3)) == y.max((2, 3))).all()
    x = dy.ones(1, 2, 2, 2)
    assert layer.eval()(x).tolist() == x.tolist()
    layer.p = 1.0
    assert layer.train()(x).sum().item() == 0


def test_losses_take_inputs_and_keep_weights_as_buffers():
    weight = dy.tensor([1.0, 2.0, 3.0])
    loss = nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)
    x, t = dy.randn(4, 3), dy.tensor([0, 2, 1, 1])
    expected = F.cross_entropy(x, t, weight=weight, label_smoothing=0.1)
    assert loss(x, t).item() == expected.item() and list(loss.state_dict()) == ["weight"]
    assert nn.MSELoss(reduction="sum")(dy.zeros(3), dy.ones(3)).item() == 3
    assert nn.TripletMarginLoss()(dy.zeros(1, 2), dy.zeros(1, 2), dy.ones(1, 2)).item() == 0
    with pytest.raises(TypeError, match="an input is missing"):
        nn.MSELoss()(dy.zeros(3))
    with pytest.raises(TypeError, match="too many inputs"):
        nn.SmoothL1Loss()(dy.zeros(3), dy.zeros(3), dy.zeros(3))


def test_pooling_and_its_indices():
    x = dy.arange(16).to(dy.float32).reshape(1, 1, 4, 4)
    values, places = F.max_pool2d(x, 2, return_indices=True)
    assert values.reshape(-1).tolist() == [5, 7, 13, 15] and places.reshape(-1).tolist() == [5, 7, 13, 15]
    assert nn.MaxUnpool2d(2)(values, places).sum().item() == 40
    assert nn.AvgPool2d(2)(x).reshape(-1).tolist() == [2.5, 4.5, 10.5, 12.5]
    assert nn.AdaptiveAvgPool2d(1)(x).item() == 7.5
    assert tuple(F.adaptive_avg_pool2d(x, (None, 2)).shape) == (1, 1, 4, 2)


def test_same_layer_in_another_dtype_and_on_meta():
    conv = nn.Conv2d(3, 8, 3, dtype=dy.bfloat16)
    assert conv.weight.dtype == dy.bfloat16 and conv(dy.ones(1, 3, 4, 4, dtype=dy.bfloat16)).dtype == dy.bfloat16
    there = nn.Sequential(nn.Conv2d(3, 8, 3, device="meta"), nn.BatchNorm2d(8, device="meta"), nn.MaxPool2d(2))
    assert tuple(there(dy.ones(2, 3, 8, 8, device="meta")).shape) == (2, 8, 3, 3)


def test_an_unknown_argument_names_the_nearest():
    with pytest.raises(TypeError, match="stride"):
        nn.Conv2d(1, 1, 3, strides=2)


def test_identity_and_containers():
    assert nn.Identity(54, unused=True)(5) == 5
    layers = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ReLU()})
    layers["c"] = nn.Linear(3, 1, bias=False)
    assert list(layers) == ["a", "b", "c"] and "b" in layers and len(layers) == 3
    assert [name for name, _ in layers.named_parameters()] == ["a.weight", "a.bias", "c.weight"]
    del layers["a"]
    assert [name for name, _ in layers.named_parameters()] == ["c.weight"]
    some = nn.ParameterList([nn.Parameter(dy.ones(2)), nn.Parameter(dy.zeros(3))])
    some.append(nn.Parameter(dy.ones(1)))
    assert len(some) == 3 and some[-1].tolist() == [1] and len(list(some.parameters())) == 3 and len(list(some[1:])) == 2
    named = nn.ParameterDict({"left": nn.Parameter(dy.ones(2))})
    assert named["left"].tolist() == [1, 1] and list(named.state_dict()) == ["left"]


def test_gains():
    assert nn.init.calculate_gain("linear") == 1 and nn.init.calculate_gain("relu") == math.sqrt(2)
    assert nn.init.calculate_gain("tanh") == pytest.approx(5 / 3)
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    with pytest.raises(ValueError, match="the known ones are"):
        nn.init.calculate_gain("sine")


@pytest.mark.parametrize(
    "name, std, uniform",
    [
        ("xavier_uniform_", math.sqrt(2 / 500), True),
        ("xavier_normal_", math.sqrt(2 / 500), False),
        ("kaiming_uniform_", math.sqrt(2 / 200), True),
        ("kaiming_normal_", math.sqrt(2 / 200), False),
    ],
)
def test_scaled_initial_values(name, std, uniform):
    w = dy.empty(300, 200)
    assert getattr(nn.init, name)(w) is w
    v = w.numpy()
    assert abs(v.std() / std - 1) < 0.02 and abs(v.mean()) < 0.02 * std
    largest = np.abs(v).max() / std
    assert (math.sqrt(3) * 0.99 < largest <= math.sqrt(3) * 1.0001) if uniform else largest > 3.5


def test_initial_values_with_structure():
    w = nn.init.orthogonal_(dy.empty(5, 3), gain=2.0).numpy()
    assert np.allclose(w.T @ w, 4 * np.eye(3), atol=1e-5)
    w = nn.init.orthogonal_(dy.empty(2, 3, 2)).numpy().reshape(2, 6)
    assert np.allclose(w @ w.T, np.eye(2), atol=1e-6)
    assert nn.init.eye_(dy.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = dy.randn(1, 4, 6)
    w = nn.init.dirac_(dy.empty(4, 2, 3), groups=2)
    assert np.array_equal(dy.conv1d(x, w, None, 1, 1, 1, 2).numpy(), x.numpy())
    w = nn.init.sparse_(dy.empty(10, 40), 0.25, std=0.5).numpy()
    assert ((w == 0).sum(0) == 3).all() and 0.4 < w[w != 0].std() < 0.6
    w = nn.init.trunc_normal_(dy.empty(200, 100), std=1.0, a=-1.0, b=0.5).numpy()
    assert w.min() >= -1 and w.max() <= 0.5 and abs(w.mean() - -0.2066) < 0.01


def test_gumbel_softmax_chooses():
    x = dy.tensor([[0.0, 50.0, 0.0]], requires_grad=True)
    hard = nn.functional.gumbel_softmax(x, hard=True)
    assert hard.round().tolist() == [[0, 1, 0]] and nn.functional.gumbel_softmax(x, tau=0.5).sum().round().item() == 1
    (hard * dy.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad is not None
    n = sum(nn.functional.gumbel_softmax(dy.zeros(4000, 2), hard=True)[:, 0]).item()
    assert abs(n - 2000) < 200


def test_layers_against_numpy():
    x = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    t = dy.from_numpy(x)
    linear = nn.Linear(5, 2)
    np.testing.assert_allclose(
        linear(t).detach().numpy(), x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    norm = nn.LayerNorm(5, eps=1e-3)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(norm(t).detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    embedding = nn.Embedding(7, 3)
    i = dy.tensor([[1, 6], [0, 1]])
    np.testing.assert_array_equal(embedding(i).detach().numpy(), embedding.weight.detach().numpy()[i.numpy()])
    assert (F.embedding(i, embedding.weight) == embedding(i)).all()
    logits, target = dy.randn(4, 3), dy.tensor([0, 2, 1, 2])
    expected = -F.log_softmax(logits, -1).numpy()[np.arange(4), target.numpy()]
    np.testing.assert_allclose(F.cross_entropy(logits, target).item(), expected.mean(), rtol=1e-5)
    np.testing.assert_allclose(F.cross_entropy(logits, target, reduction="none").numpy(), expected, rtol=1e-5)
    p = F.softmax(logits, dim=-1).numpy()
    np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-5)
    gelu = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel().tolist()]
    np.testing.assert_allclose(nn.GELU()(t).numpy().ravel(), gelu, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(F.gelu(t, approximate="tanh").numpy(), F.gelu(t).numpy(), atol=2e-3)
    assert (F.dropout(t, 0.5, training=False) == t).all()
    with pytest.raises(AttributeError, match="nonsense"):
        F.nonsense


def test_attention():
    q, k, v = (dy.randn(2, 3, 8, 4) for _ in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    s = q.numpy() @ k.numpy().transpose(0, 1, 3, 2) / 2
    s[..., np.triu(np.ones((8, 8), bool), 1)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), (p / p.sum(-1, keepdims=True)) @ v.numpy(), rtol=1e-4, atol=1e-5)


BEGINNINGS = {
    nn.Linear: (2, 2),
    nn.LayerNorm: (2,),
    nn.Embedding: (2, 2),
    nn.EmbeddingBag: (2, 2),
    nn.Conv2d: (1, 1, 1),
    nn.BatchNorm1d: (2,),
    nn.LSTM: (1, 1),
}


@pytest.mark.parametrize("base", BEGINNINGS, ids=lambda c: c.__name__)
def test_layers_begin_as_derived_classes_say(base):
    class Own(base):
        def __init__(self, *args):
            self.begun = 0
            super().__init__(*args)

        def reset_parameters(self):
            super().reset_parameters()
            self.begun += 1
            for p in self.parameters():
                nn.init.constant_(p, 3)

    m = Own(*BEGINNINGS[base])
    assert m.begun == 1 and all((p == 3).all() for p in m.parameters())
    for p in m.parameters():
        nn.init.zeros_(p)
    other = copy.deepcopy(m)
    assert other.begun == 1 and all((p == 0).all() for p in other.parameters())


ATTRIBUTES = """
nn.Conv2d(1, 1, 1).transposed => False
nn.Conv2d(1, 1, 1).output_padding => (0, 0)
nn.ConvTranspose2d(1, 1, 1).transposed => True
nn.Conv2d(1, 1, 3, padding="same").padding => 'same'
nn.Conv2d(1, 1, 3, padding=(1, 2))._reversed_padding_repeated_twice => (2, 2, 1, 1)
nn.LayerNorm(2, elementwise_affine=False).elementwise_affine => False
nn.RNN(2, 3).mode, nn.LSTM(2, 3).mode => ('RNN_TANH', 'LSTM')
nn.GRU(2, 3)._flat_weights_names => ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
len(nn.LSTM(2, 3)._flat_weights) => 4
nn.MultiheadAttention(4, 2).head_dim => 2
nn.MultiheadAttention(4, 2).kdim, nn.MultiheadAttention(4, 2, kdim=3).kdim => (4, 3)
nn.MultiheadAttention(4, 2)._qkv_same_embed_dim, nn.MultiheadAttention(4, 2, kdim=3)._qkv_same_embed_dim => (True, False)
nn.MultiheadAttention(4, 2).bias_k, nn.MultiheadAttention(4, 2, kdim=3).in_proj_weight => (None, None)
nn.MaxPool2d(3).kernel_size, nn.MaxPool2d(3).stride, nn.MaxPool2d(3).padding => (3, 3, 0)
nn.MaxPool2d((3, 3)).kernel_size, nn.MaxPool2d((3, 2)).stride, nn.MaxPool2d(3, 2).stride => ((3, 3), (3, 2), 2)
nn.AvgPool1d(3).kernel_size, nn.AvgPool1d(3).stride, nn.AvgPool2d(3).stride => ((3,), (3,), 3)
nn.AdaptiveAvgPool2d(3).output_size, nn.AdaptiveAvgPool2d((3, 3)).output_size => (3, (3, 3))
nn.Softplus(2, 10) => Softplus(beta=2, threshold=10)
nn.Threshold(0.1, 20) => Threshold(threshold=0.1, value=20)
nn.LPPool2d(2, 3) => LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)
nn.ConstantPad1d(2, 3) => ConstantPad1d(padding=(2, 2), value=3)
nn.Dropout(0), nn.LeakyReLU(1) => (Dropout(p=0, inplace=False), LeakyReLU(negative_slope=1))
nn.ModuleDict({"a": nn.ReLU()}).keys() => dict_keys(['a'])
"""


@pytest.mark.parametrize("code, text", [line.split(" => ") for line in ATTRIBUTES.strip().splitlines()])
def test_attributes_are_as_they_were_given(code, text):
    assert repr(eval(code)) == text


def test_arguments_may_change():
    pool = nn.MaxPool2d(2)
    pool.kernel_size, pool.stride = 3, (3, 3)
    assert pool(dy.ones(1, 1, 6, 6)).shape == (1, 1, 2, 2) and (pool.kernel_size, pool.stride) == (3, (3, 3))
    drop = copy.deepcopy(nn.Dropout(1))
    assert drop.p == 1 and type(drop.p) is int and drop(dy.ones(2)).tolist() == [0, 0]
    drop.p = 0.0
    assert repr(drop) == "Dropout(p=0.0, inplace=False)" and drop(dy.ones(2)).tolist() == [1, 1]
    with pytest.raises(ValueError, match="BatchNorm2d: the input is 4D: it is 2D"):
        nn.BatchNorm2d(2)._check_input_dim(dy.ones(1, 2))


def test_a_class_derived_from_a_norm_has_a_name_of_its_own():
    class Own(nn.BatchNorm2d):
        pass

    x = dy.randn(2, 3, 4, 4)
    np.testing.assert_array_equal(Own(3)(x).detach().numpy(), nn.BatchNorm2d(3)(x).detach().numpy())
    with pytest.raises(ValueError):
        Own(3)(x[0, 0])


def test_flags_are_numbers_too():
    assert nn.Linear(2, 2, 1).bias is not None and nn.Linear(2, 2, bias=0).bias is None
    assert nn.LayerNorm(2, elementwise_affine=0).weight is None and nn.Embedding(2, 2, scale_grad_by_freq=1).scale_grad_by_freq is True
    assert nn.LSTM(2, 3, bidirectional=1)(dy.ones(1, 1, 2))[0].shape == (1, 1, 6) and nn.BatchNorm2d(2, affine=0).weight is None
    assert nn.Conv2d(1, 1, 1, bias=0).bias is None and nn.Dropout(True)(dy.ones(3)).tolist() == [0, 0, 0]
