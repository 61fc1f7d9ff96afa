"""Nested tensors from Python; values are C++'s tests."""
import copy
import pickle

import pytest

import dyadic as torch


def test_made_and_taken_apart():
    a, b = torch.arange(3.0), torch.arange(5.0)
    n = torch.nested.nested_tensor([a, b])
    assert isinstance(n, torch.Tensor) and n.is_nested and not a.is_nested and n.layout is torch.strided
    assert n.dim() == 2 and n.size(0) == len(n) == 2 and n.numel() == 8 and n.dtype == torch.float32 and n.device.type == "cpu"
    assert [t.tolist() for t in n.unbind()] == [a.tolist(), b.tolist()] == [t.tolist() for t in n]
    assert n.to_padded_tensor(-1).tolist() == [[0, 1, 2, -1, -1], [0, 1, 2, 3, 4]]
    assert torch.nested.to_padded_tensor(n, 0.0, (2, 7)).shape == (2, 7)
    assert str(n) == "nested_tensor([\n  tensor([0., 1., 2.]),\n  tensor([0., 1., 2., 3., 4.])\n])"
    for other in (copy.deepcopy(n), pickle.loads(pickle.dumps(n)), n.clone()):
        assert str(other) == str(n)


def test_gradients():
    values = torch.arange(6.0).requires_grad_()
    n = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 6]))
    assert n.layout is torch.jagged and n.requires_grad and n.offsets().tolist() == [0, 2, 6]
    n.to_padded_tensor(0.0).square().sum().backward()
    assert values.grad.tolist() == [0, 2, 4, 6, 8, 10]
    assert [len(t) for t in torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([1, 5]))] == [1, 5]
    leaf = torch.ones(2, requires_grad=True)
    torch.nested.as_nested_tensor([leaf, torch.zeros(3)]).values().sum().backward()
    assert leaf.grad.tolist() == [1, 1]
    assert torch.nested.nested_tensor([[1.0], [2.0, 3.0]], requires_grad=True).unbind()[1].is_leaf


def test_refused_by_name():
    n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(NotImplementedError, match="relu: it is not here for nested tensors; unbind"):
        torch.relu(n)
    with pytest.raises(NotImplementedError, match="__add__: it is not here for nested tensors"):
        n + 1
    with pytest.raises(RuntimeError, match="differ in dimension 1"):
        n.size(1)
    with pytest.raises(RuntimeError, match="has no shape"):
        n.shape
