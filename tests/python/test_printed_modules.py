"""What modules print is what they print in PyTorch 2.15 (texts taken from there)."""
import pytest

import dyadic as torch
from dyadic import nn

TEXTS = """
nn.Linear(2, 3) => Linear(in_features=2, out_features=3, bias=True)
nn.Conv2d(3, 8, 3) => Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
nn.Conv2d(3, 8, 3, padding=1, stride=2, bias=False) => Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
nn.Conv1d(4, 4, 3, dilation=2, padding="same", padding_mode="reflect") => Conv1d(4, 4, kernel_size=(3,), stride=(1,), padding=same, dilation=(2,), padding_mode=reflect)
nn.ConvTranspose2d(3, 4, 2, stride=2, output_padding=1) => ConvTranspose2d(3, 4, kernel_size=(2, 2), stride=(2, 2), output_padding=(1, 1))
nn.BatchNorm1d(4, affine=False) => BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=True)
nn.LayerNorm(5) => LayerNorm((5,), eps=1e-05, elementwise_affine=True, bias=True)
nn.GroupNorm(2, 4) => GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)
nn.RMSNorm(4) => RMSNorm((4,), eps=None, elementwise_affine=True)
nn.Embedding(10, 3, padding_idx=0) => Embedding(10, 3, padding_idx=0)
nn.EmbeddingBag(10, 3, mode="sum") => EmbeddingBag(10, 3, mode='sum')
nn.Dropout(0.3) => Dropout(p=0.3, inplace=False)
nn.ReLU() => ReLU()
nn.ReLU(inplace=True) => ReLU(inplace=True)
nn.LeakyReLU(0.2, inplace=True) => LeakyReLU(negative_slope=0.2, inplace=True)
nn.ELU() => ELU(alpha=1.0)
nn.GELU() => GELU(approximate='none')
nn.Softmax(dim=1) => Softmax(dim=1)
nn.Softshrink() => Softshrink(0.5)
nn.MaxPool2d(2) => MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
nn.AvgPool2d(2) => AvgPool2d(kernel_size=2, stride=2, padding=0)
nn.AvgPool1d(3, stride=2) => AvgPool1d(kernel_size=(3,), stride=(2,), padding=(0,))
nn.AdaptiveAvgPool2d(1) => AdaptiveAvgPool2d(output_size=1)
nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, dropout=0.1) => LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
nn.GRUCell(3, 4) => GRUCell(3, 4)
nn.CrossEntropyLoss() => CrossEntropyLoss()
nn.Flatten() => Flatten(start_dim=1, end_dim=-1)
nn.Upsample(scale_factor=2) => Upsample(scale_factor=2.0, mode='nearest')
nn.ZeroPad2d(1) => ZeroPad2d((1, 1, 1, 1))
nn.ConstantPad1d(2, 3.5) => ConstantPad1d(padding=(2, 2), value=3.5)
nn.Bilinear(2, 3, 4) => Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)
nn.Sequential() => Sequential()
nn.Identity() => Identity()
nn.Module() => Module()
"""


@pytest.mark.parametrize("code, text", [line.split(" => ") for line in TEXTS.strip().split("\n")])
def test_layer(code, text):
    assert repr(eval(code)) == text


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 5)
        self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
        self.named = nn.ModuleDict({"a": nn.Sequential(nn.Tanh())})
        self.w = nn.Parameter(torch.zeros(3))

    def extra_repr(self):
        return "k=3\nof two lines"


def test_tree():
    assert str(Net()) == "\n".join(
        [
            "Net(",
            "  k=3",
            "  of two lines",
            "  (conv): Conv2d(1, 6, kernel_size=(5, 5), stride=(1, 1))",
            "  (blocks): ModuleList(",
            "    (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)",
            "    (2): ReLU()",
            "  )",
            "  (named): ModuleDict(",
            "    (a): Sequential(",
            "      (0): Tanh()",
            "    )",
            "  )",
            ")",
        ]
    )


def test_layers_that_write_in_place():
    for kind, *args in ((nn.ReLU,), (nn.LeakyReLU, 0.5), (nn.Hardtanh,), (nn.SELU,)):
        x = torch.tensor([-2.0, 0.5, 3.0])
        want = kind(*args)(x)
        assert want is not x and kind(*args, inplace=True)(x) is x and torch.equal(x, want)
    w = torch.tensor([-1.0, 2.0], requires_grad=True)
    nn.Sequential(nn.Identity(), nn.ReLU(True))(w * 3).sum().backward()
    assert w.grad.tolist() == [0, 3]


def test_dimensions_of_normalizations():
    with pytest.raises(ValueError, match="BatchNorm2d: wrong number of dimensions"):
        nn.BatchNorm2d(3)(torch.ones(2, 3))
    with pytest.raises(ValueError, match="2 or 3"):
        nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 4))
    with pytest.raises(ValueError, match="groups differ"):
        nn.GroupNorm(3, 4)
    assert nn.InstanceNorm2d(3)(torch.ones(3, 4, 4)).shape == (3, 4, 4)


def test_children_made_by_cpp_are_of_their_own_classes():
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    kinds = [type(m) for m in layer.modules()]
    assert kinds.count(nn.Dropout) == 3 and nn.MultiheadAttention in kinds and layer.dropout1.p == 0.1
    for m in layer.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.0
    layer.self_attn.dropout = 0.0
    x = torch.randn(3, 2, 8)
    assert torch.equal(layer(x), layer(x))
    assert "(self_attn): MultiheadAttention(" in repr(layer) and "(dropout1): Dropout(p=0.0, inplace=False)" in repr(layer)


def test_adaptive_pooling_keeps_sizes_that_are_none():
    x = torch.randn(2, 3, 5, 7)
    for kind in ("Avg", "Max"):
        layer = getattr(nn, f"Adaptive{kind}Pool2d")((2, None))
        function = getattr(nn.functional, f"adaptive_{kind.lower()}_pool2d")
        assert torch.equal(layer(x), function(x, (2, 7))) and layer.output_size == (2, None) and "(2, None)" in repr(layer)
    values, indices = nn.AdaptiveMaxPool2d((None, 3), return_indices=True)(x)
    assert values.shape == indices.shape == (2, 3, 5, 3)


def test_meta_and_what_did_not_fit():
    base = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).to("meta")
    assert base[0].weight.is_meta
    state = {k: torch.ones(v.shape) for k, v in base.state_dict().items()}
    assert torch.func.functional_call(base, state, (torch.ones(1, 2),)).tolist() == [[3, 3, 3]]
    report = nn.Linear(2, 3).load_state_dict({"weight": torch.ones(3, 2)}, strict=False)
    assert repr(report) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])"


def test_parts_as_dicts():
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert list(m._modules) == ["0", "1"] and m._modules["0"] is m[0] and list(m[0]._parameters) == ["weight", "bias"]
    assert list(m[1]._buffers) == ["running_mean", "running_var", "num_batches_tracked"] and "weight" not in m._parameters
    m._modules["0"] = nn.Linear(2, 3, bias=False)
    assert m[0].out_features == 3
    m[0]._parameters["weight"] = nn.Parameter(torch.ones(3, 2))
    assert m[0](torch.ones(1, 2)).tolist() == [[2, 2, 2]]
    del m._modules["1"]
    assert len(m) == 1
    with pytest.raises(KeyError):
        m._modules["9"]
    shared = nn.ReLU()
    assert repr(nn.Sequential(shared, shared)).count("ReLU()") == 2


def test_attention():
    text = "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n)"
    assert repr(nn.MultiheadAttention(4, 2)) == text


def test_optimizers():
    text = "\n".join(
        "SGD (|Parameter Group 0|    dampening: 0|    differentiable: False|    foreach: None|    fused: None|    lr: 0.1|"
        "    maximize: False|    momentum: 0.9|    nesterov: False|    weight_decay: 0|)".split("|")
    )
    weights = [nn.Parameter(torch.ones(1))]
    assert repr(torch.optim.SGD(weights, lr=0.1, momentum=0.9)) == text
    assert "    stochastic_rounding: True\n" in repr(torch.optim.SGD(weights, lr=0.1, stochastic_rounding=True))
