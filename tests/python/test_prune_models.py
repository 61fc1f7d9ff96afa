"""dyadic.prune: a thin face of dy::prune (tests/prune), and what pruning costs on digits."""
import os

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.utils.data import read_csv

DIGITS = os.path.join(os.path.dirname(__file__), "../../examples/data/digits.csv")


@pytest.fixture(scope="module")
def digits():
    table = read_csv(DIGITS)
    x, y = table[:, :64] / 16, table[:, 64].long()
    test = torch.arange(len(x)) % 5 == 0
    return x[~test], y[~test], x[test], y[test]


def network():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def train(model, x, y, epochs, lr, masks=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[part]), y[part]).backward()
            optimizer.step()
            if masks is not None:
                masks.apply()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


@pytest.mark.parametrize("method, sparsity", [("magnitude", 0.5), ("wanda", 0.5), ("sparsegpt", "2:4")])
def test_half_of_the_weights_of_digits(digits, method, sparsity):
    x, y, test_x, test_y = digits
    torch.manual_seed(1)
    model = network()
    train(model, x, y, 25, 3e-3)
    dense = accuracy(model, test_x, test_y)
    report = torch.prune.prune(model, sparsity, method=method, calibration=[x[:512]])
    assert report.zeros == report.parameters // 2 - (128 + 64 + 10) // 2 and all(layer.sparsity == 0.5 for layer in report.layers)
    masks = torch.prune.Masks(model)
    assert masks.zeros() == report.zeros and len(masks) == 3
    train(model, x, y, 5, 1e-3, masks)
    assert sum((p == 0).sum().item() for p in model.parameters()) == report.zeros
    assert dense > 0.95 and accuracy(model, test_x, test_y) > dense - 0.01


def test_one_matrix():
    torch.manual_seed(0)
    w, x = torch.randn(16, 32), torch.randn(200, 32) @ torch.randn(32, 32)

    def error(made):
        return ((x @ (made - w).T).norm() / (x @ w.T).norm()).item()

    by_size, by_inputs, made_good = (torch.prune.magnitude(w, 0.5, "row"), torch.prune.wanda(w, x, 0.5), torch.prune.sparsegpt(w, x, 0.5))
    assert error(made_good) < error(by_inputs) < error(by_size)
    assert (torch.prune.sparsegpt(w, x, "2:4").reshape(-1, 4) == 0).sum(1).eq(2).all()
    assert [m.name for m in torch.prune.methods()] == ["magnitude", "wanda", "sparsegpt"]


def test_refusals():
    with pytest.raises(ValueError, match="needs calibration data"):
        torch.prune.prune(network(), method="wanda")
    with pytest.raises(ValueError, match="write 0.5, 50% or 2:4"):
        torch.prune.prune(network(), "half")
