"""Ops on lists of tensors; the numbers are PyTorch's."""
import pytest

import dyadic as torch


def lists(*values):
    return [torch.tensor(v) for v in values]


def test_values():
    a = lists([1.0, 2.0], [3.0, 4.0, 5.0])
    assert [t.tolist() for t in torch._foreach_add(a, a, alpha=2)] == [[3, 6], [9, 12, 15]]
    assert [t.tolist() for t in torch._foreach_mul(a, [2.0, 3.0])] == [[2, 4], [9, 12, 15]]
    assert [t.item() for t in torch._foreach_norm(lists([3.0, 4.0], [1.0]))] == [5, 1]
    assert [t.tolist() for t in torch._foreach_addcmul(a, a, a, [1.0, 2.0])] == [[2, 6], [21, 36, 55]]
    assert [t.tolist() for t in torch._foreach_pow(2, lists([1.0, 3.0]))] == [[2, 8]]


def test_in_place():
    average, new = lists([0.0], [4.0]), lists([1.0], [8.0])
    assert torch._foreach_lerp_(average, new, 0.25) is None
    assert [t.item() for t in average] == [0.25, 5]
    torch._foreach_copy_(average, new)
    torch._foreach_zero_(new)
    assert [t.item() for t in average + new] == [1, 8, 0, 0]


def test_unknown():
    with pytest.raises(AttributeError, match="frobnicate"):
        torch._foreach_frobnicate([])


def test_in_place_forms_of_all():
    a, b = lists([3.0, 4.0], [1.0, -5.0]), lists([1.0, 1.0], [2.0, 2.0])
    assert [t.item() for t in torch._foreach_norm(a, ord=1)] == [7, 6] and [t.item() for t in torch._foreach_norm(a, 1)] == [7, 6]
    torch._foreach_maximum_(a, 2.0)
    assert [t.tolist() for t in a] == [[3, 4], [2, 2]]
    torch._foreach_minimum_(a, b)
    assert [t.tolist() for t in a] == [[1, 1], [2, 2]]
