"""nn.utils.prune: the masks are PyTorch's."""
import copy
import pickle

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.nn.utils import prune

WEIGHT = [[0.1, -0.2, 0.3, -0.4], [0.5, 0.6, -0.7, 0.8], [0.9, -1.0, 1.1, -1.2]]


def layer():
    made = nn.Linear(4, 3)
    with torch.no_grad():
        made.weight.copy_(torch.tensor(WEIGHT))
        made.bias.copy_(torch.tensor([0.1, -0.2, 0.3]))
    return made


def test_step_by_step():
    linear, x = layer(), torch.ones(2, 4)
    assert prune.l1_unstructured(linear, "weight", 0.25) is linear and prune.is_pruned(linear)
    assert linear.weight[0].tolist() == [0, 0, 0, pytest.approx(-0.4)]
    assert [name for name, _ in linear.named_parameters()] == ["bias", "weight_orig"] and list(linear._buffers) == ["weight_mask"]
    prune.l1_unstructured(linear, "weight", 2)
    assert linear.weight_mask.tolist() == [[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]
    prune.ln_structured(linear, "weight", 1, n=2, dim=0)
    assert linear.weight_mask.tolist() == [[0] * 4, [0] * 4, [1] * 4]
    linear(x).sum().backward()
    assert linear.weight_orig.grad.tolist() == [[0] * 4, [0] * 4, [2] * 4]
    torch.optim.SGD(linear.parameters(), lr=0.1).step()
    assert linear(x)[0, 2].item() == pytest.approx(-0.2 - 0.8 + 0.1)
    for copied in (copy.deepcopy(linear), pickle.loads(pickle.dumps(linear))):
        assert copied(x).equal(linear(x)) and prune.is_pruned(copied)
    y = linear(x)
    prune.remove(linear, "weight")
    assert isinstance(linear.weight, nn.Parameter) and sorted(linear.state_dict()) == ["bias", "weight"]
    assert linear(x).equal(y) and not prune.is_pruned(linear) and linear.weight[0].tolist() == [0] * 4


def test_together():
    first, second = layer(), nn.Linear(3, 2)
    with torch.no_grad():
        second.weight.fill_(0.05)
    parts = [(first, "weight"), (first, "bias"), (second, "weight")]
    prune.global_unstructured(parts, pruning_method=prune.L1Unstructured, amount=8)
    assert second.weight_mask.sum() == 0 and first.weight_mask.sum() + first.bias_mask.sum() == 13


def test_other_ways():
    linear, x = layer(), torch.ones(1, 4)
    prune.custom_from_mask(linear, "bias", torch.tensor([0, 1, 0]))
    assert linear.bias.tolist() == [0, pytest.approx(-0.2), 0] and linear(x).shape == (1, 3)
    for prune_, args, left in (
        (prune.random_unstructured, (0.5,), 6),
        (prune.random_structured, (2, 1), 6),
        (prune.ln_structured, (0.5, 1, -1), 6),
        (prune.identity, (), 12),
    ):
        assert prune_(layer(), "weight", *args).weight_mask.sum() == left
    by_scores = prune.l1_unstructured(layer(), "weight", 3, importance_scores=torch.arange(12.0).reshape(3, 4))
    assert by_scores.weight_mask[0].tolist() == [0, 0, 0, 1]
    lstm, conv = nn.LSTM(2, 2), nn.Conv2d(2, 2, 1, bias=False)
    assert prune.l1_unstructured(lstm, "weight_ih_l0", 0.5)(torch.ones(1, 1, 2))[0].shape == (1, 1, 2)
    assert (prune.l1_unstructured(conv, "weight", 1.0)(torch.ones(1, 2, 1, 1)) == 0).all()
    assert prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, -1.0, 2.0])).tolist() == [3, 0, 2]


def test_ones_own():
    class Threshold(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def __init__(self, threshold):
            self.threshold = threshold

        def compute_mask(self, t, default_mask):
            return (t.abs() > self.threshold) * default_mask

    linear = layer()
    Threshold.apply(linear, "weight", threshold=0.55)
    assert (linear.weight == 0).sum() == 5


@pytest.mark.parametrize(
    "error, call",
    [
        (ValueError, lambda: prune.l1_unstructured(layer(), "weight", 13)),
        (ValueError, lambda: prune.l1_unstructured(layer(), "weight", 1.5)),
        (TypeError, lambda: prune.l1_unstructured(layer(), "weight", "a")),
        (ValueError, lambda: prune.remove(layer(), "weight")),
        (ValueError, lambda: prune.ln_structured(layer(), "bias", 1, 2, 0)),
        (AssertionError, lambda: prune.l1_unstructured(layer(), "weight", 1, importance_scores=torch.ones(3))),
        (TypeError, lambda: prune.global_unstructured([(layer(), "weight")], prune.LnStructured, amount=1, n=2)),
    ],
)
def test_refusals(error, call):
    with pytest.raises(error):
        call()
