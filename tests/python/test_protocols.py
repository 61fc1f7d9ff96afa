"""How tensors meet the rest of Python: formatting, numpy's operators, warnings, classes of errors, names of nodes, whole modules in files."""
import io
import pickle
import warnings

import numpy as np
import pytest

import dyadic as torch
from dyadic import nn
from dyadic.nn import functional as F


def test_a_number_formats_as_a_number():
    loss = (torch.tensor([1.0, 2.5], requires_grad=True) * 1).sum()
    assert f"{loss}" == "3.5" and f"{loss:.2f}" == "3.50" and "{:>6}".format(torch.tensor(3)) == "     3"
    assert f"{torch.tensor(True)} {torch.tensor(1 + 2j)}" == "True (1+2j)"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])" and f"{nn.Parameter(torch.tensor(1.0))}".startswith("Parameter")
    with pytest.raises(TypeError):
        f"{torch.tensor([1.0, 2.0]):.2f}"


def test_arrays_as_operands():
    x, a = torch.arange(3), np.array([1.0, 2.0, 3.0])
    for result in (x * a, a * x, a + x, x - a, a / (x + 1), x.double() @ a, a @ x.double(), x < a):
        assert isinstance(result, torch.Tensor)
    assert (x * a).tolist() == [0, 2, 6] and (x * a).dtype is torch.float64 and (a - x).tolist() == [1, 1, 1]
    assert isinstance(np.exp(x), torch.Tensor) and np.allclose(np.exp(x).numpy(), np.exp(a - 1))
    x = x.float()
    x += a
    assert x.tolist() == [1, 3, 5] and x.dtype is torch.float32
    assert (torch.ones(2) == np.array([1, 0])).tolist() == [True, False]
    with pytest.raises(TypeError):
        x + [1, 2, 3]


def test_warnings_are_pythons():
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.warns(UserWarning, match="no leaf"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None and y.detach().grad is None
        with pytest.raises(UserWarning, match="no leaf"):
            (y * 2).grad
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            nn.Linear(2, 2, dtype=torch.bfloat16)(torch.ones(1, 2))
        for _ in range(10):
            pass
    assert all(issubclass(w.category, UserWarning) for w in seen)


def test_errors_are_of_the_classes_that_code_expects():
    with pytest.raises(RuntimeError):
        torch.ones(2).to("nowhere")
    with pytest.raises(ValueError):
        torch.ones(2).to("nowhere")
    with pytest.raises(RuntimeError):
        torch.ones(2).index_add_(0, torch.tensor([5]), torch.ones(1))
    with pytest.raises(IndexError):
        torch.ones(2)[1.5]
    with pytest.raises(IndexError):
        torch.ones(2)[5]


def test_names_of_nodes():
    x = torch.ones(2, 3, requires_grad=True)
    names = {
        "AddBackward0": x + 1, "MulBackward0": x * 2, "MmBackward0": x @ x.T, "SumBackward0": x.sum(), "SumBackward1": x.sum(1),
        "MeanBackward0": x.mean(), "MeanBackward1": x.mean(1), "SelectBackward0": x[0], "SliceBackward0": x[1:], "ViewBackward0": x.view(6),
        "PowBackward0": x**2, "SoftmaxBackward0": x.softmax(1), "LogSoftmaxBackward0": x.log_softmax(1), "StackBackward0": torch.stack([x, x]),
        "CatBackward0": torch.cat([x, x]), "ReluBackward0": x.relu(), "MseLossBackward0": F.mse_loss(x, x + 1), "Log1PBackward0": x.log1p(),
        "NllLossBackward0": F.cross_entropy(x, torch.tensor([0, 1])), "AddmmBackward0": nn.Linear(3, 2)(x), "MaxBackward1": x.max(),
        "MaxBackward0": x.max(1).values, "ConvolutionBackward0": F.conv1d(x[None], torch.ones(1, 2, 1)), "EmbeddingBackward0": F.embedding(torch.tensor([0]), x),
    }  # fmt: skip
    for name, y in names.items():
        assert y.grad_fn.name() == name
        assert f"grad_fn=<{name}>" in repr(y) and repr(y.grad_fn).startswith(f"<{name} object at 0x")
    assert x.sum().grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))
        self.inner[0].weight.data.fill_(0.5)

    def forward(self, x):
        return self.inner(x)


def test_whole_modules_in_files(tmp_path):
    m = Block().eval()
    torch.save(m, tmp_path / "m.pt")
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        torch.load(tmp_path / "m.pt")
    back = torch.load(tmp_path / "m.pt", weights_only=False)
    assert isinstance(back, Block) and not back.training and torch.equal(back(torch.ones(2, 3)), m(torch.ones(2, 3)))
    buffer = io.BytesIO()
    torch.save({"model": m, "step": 3}, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False)["model"].inner[0].weight[0, 0] == 0.5


def test_probabilities_are_checked():
    good = torch.tensor([0.0, 0.5, 1.0])
    assert F.binary_cross_entropy(good, good).isfinite()
    for bad in (torch.tensor([1.5]), torch.tensor([-0.1]), torch.tensor([float("nan")])):
        with pytest.raises(RuntimeError, match="no probability"):
            F.binary_cross_entropy(bad, torch.ones(1))
        with pytest.raises(RuntimeError, match="no probability"):
            F.binary_cross_entropy(torch.ones(1), bad)
    assert F.binary_cross_entropy(torch.zeros(0), torch.zeros(0)).isnan()


def test_numpy_scalars_bring_their_dtype():
    assert torch.tensor([np.float64(1), np.float64(2)]).dtype is torch.float64 and torch.tensor([np.float32(1)]).dtype is torch.float32
    assert torch.tensor([np.int32(1), np.int32(2)]).dtype is torch.int32 and torch.tensor([np.bool_(True)]).dtype is torch.bool
    assert torch.tensor([[np.float64(1)], [2.0]]).dtype is torch.float64 and torch.tensor([1.0, 2.0]).dtype is torch.float32
    assert torch.tensor([np.complex64(1j)]).dtype is torch.complex64 and torch.tensor([np.float64(1)], dtype=torch.int64).tolist() == [1]
    assert torch.tensor([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]


def test_modes_of_nan():
    n = float("nan")
    for values, mode, index in (([1, n, n, 1, 1], 1, 4), ([n, n, 1, 2], n, 0), ([2, 2, n, n], 2, 1), ([3, n, 3, n], 3, 2), ([3, 1, 2], 1, 1)):
        found = torch.mode(torch.tensor(values, dtype=torch.float32))
        assert found.indices == index and (found.values == mode or found.values.isnan() and mode != mode)


def test_a_tied_weight_is_one_parameter():
    encoder, decoder = nn.Linear(2, 2), nn.Linear(2, 2)
    decoder.weight = encoder.weight
    with pytest.warns(UserWarning, match="names a parameter twice"):
        optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.5)
    before = encoder.weight.detach().clone()
    encoder.weight.sum().backward()
    optimizer.step()
    assert torch.equal(encoder.weight, before - 0.5) and len(optimizer.param_groups[0]["params"]) == 3
