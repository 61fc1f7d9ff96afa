"""Layers that learn the size of their input from the first one."""
import pickle

import pytest

import dyadic as torch

nn = torch.nn

# arguments, an input, the shapes of the result, the parameters and the buffers (PyTorch's)
CASES = {
    "LazyLinear": ((2,), (4, 3), (4, 2), [[2, 3], [2]], []),
    "LazyConv1d": ((4, 3), (2, 3, 8), (2, 4, 6), [[4, 3, 3], [4]], []),
    "LazyConv2d": ((4, 3), (2, 3, 8, 8), (2, 4, 6, 6), [[4, 3, 3, 3], [4]], []),
    "LazyConv3d": ((4, 2), (1, 2, 4, 4, 4), (1, 4, 3, 3, 3), [[4, 2, 2, 2, 2], [4]], []),
    "LazyConvTranspose1d": ((4, 3), (2, 3, 8), (2, 4, 10), [[3, 4, 3], [4]], []),
    "LazyConvTranspose2d": ((4, 3), (2, 3, 8, 8), (2, 4, 10, 10), [[3, 4, 3, 3], [4]], []),
    "LazyConvTranspose3d": ((4, 2), (1, 2, 4, 4, 4), (1, 4, 5, 5, 5), [[2, 4, 2, 2, 2], [4]], []),
    "LazyBatchNorm1d": ((), (4, 5), (4, 5), [[5], [5]], [[5], [5], []]),
    "LazyBatchNorm2d": ((), (2, 3, 8, 8), (2, 3, 8, 8), [[3], [3]], [[3], [3], []]),
    "LazyBatchNorm3d": ((), (2, 3, 2, 2, 2), (2, 3, 2, 2, 2), [[3], [3]], [[3], [3], []]),
    "LazyInstanceNorm1d": ((), (2, 3, 8), (2, 3, 8), [[3], [3]], [[3], [3], []]),
    "LazyInstanceNorm2d": ((), (2, 3, 4, 4), (2, 3, 4, 4), [[3], [3]], [[3], [3], []]),
    "LazyInstanceNorm3d": ((), (2, 3, 2, 2, 2), (2, 3, 2, 2, 2), [[3], [3]], [[3], [3], []]),
}


def shapes(tensors):
    return [list(t.shape) for t in tensors]


@pytest.mark.parametrize("name", CASES)
def test_the_first_input_decides(name):
    arguments, given, result, parameters, buffers = CASES[name]
    m = getattr(nn, name)(*arguments)
    before = list(m.parameters())
    assert m.has_uninitialized_params() and all(isinstance(p, nn.UninitializedParameter) for p in before)
    assert list(m(torch.ones(given)).shape) == list(result)
    assert type(m) is getattr(nn, name.removeprefix("Lazy"))
    assert shapes(m.parameters()) == parameters and shapes(m.buffers()) == buffers
    assert all(a is b for a, b in zip(before, m.parameters())) and not isinstance(before[0], nn.UninitializedParameter)
    assert list(m(torch.ones(given)).shape) == list(result)


def model():
    return nn.Sequential(
        nn.LazyConv2d(4, 3, padding=1, groups=1), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3, bias=False)
    )


def test_a_model_learns():
    m = model()
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    x = torch.randn(2, 3, 4, 4)
    m(x).square().sum().backward()
    before = m[4].weight.detach().clone()
    optimizer.step()
    assert (m[4].weight - before).abs().max() > 0 and [type(layer).__name__ for layer in m][4] == "Linear"
    assert list(m(x).shape) == [2, 3] and "in_features=64" in repr(m)
    again = pickle.loads(pickle.dumps(m)).eval()
    torch.testing.assert_close(again(x), m.eval()(x))


def test_a_saved_model_decides():
    m, lazy = model(), model()
    x = torch.randn(2, 3, 4, 4)
    m(x)
    assert str(lazy.load_state_dict(m.state_dict())) == "<All keys matched successfully>"
    torch.testing.assert_close(lazy.eval()(x), m.eval()(x))
    transposed = nn.ConvTranspose2d(6, 4, 3, groups=2)
    fresh = nn.LazyConvTranspose2d(4, 3, groups=2)
    fresh.load_state_dict(transposed.state_dict())
    assert fresh.in_channels == 6 and list(fresh.weight.shape) == [6, 2, 3, 3]


def test_dtypes_and_refusals():
    m = nn.LazyLinear(2, dtype=torch.float64)
    m(torch.ones(3, dtype=torch.float64))
    assert m.weight.dtype == torch.float64
    m = nn.LazyConv2d(2, 3).double()
    m.initialize_parameters(torch.ones(1, 5, 4, 4))
    assert m.weight.dtype == torch.float64 and m.in_channels == 5
    with pytest.raises(RuntimeError, match="LazyConv2d: the input has 3 or 4 dimensions"):
        nn.LazyConv2d(2, 3)(torch.ones(2, 2))
