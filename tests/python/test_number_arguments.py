"""Arguments that are numbers: in PyTorch's older order, and what stands for a number."""
import pytest

import dyadic as torch
from dyadic.nn import functional as F


OLDER = [
    ("add(x, 0.5, y)", "add(x, y, alpha=0.5)"),
    ("sub(x, 0.5, y)", "sub(x, y, alpha=0.5)"),
    ("addcmul(x, 0.5, y, y)", "addcmul(x, y, y, value=0.5)"),
    ("addcdiv(x, 0.5, y, y)", "addcdiv(x, y, y, value=0.5)"),
    ("addmm(2, x, 3, y, y)", "addmm(x, y, y, beta=2, alpha=3)"),
    ("addmm(2, x, y, y)", "addmm(x, y, y, beta=2)"),
    ("addmv(2, x[0], 3, y, y[0])", "addmv(x[0], y, y[0], beta=2, alpha=3)"),
    ("addr(2, x, 3, y[0], y[0])", "addr(x, y[0], y[0], beta=2, alpha=3)"),
    ("baddbmm(2, x[None], 3, y[None], y[None])", "baddbmm(x[None], y[None], y[None], beta=2, alpha=3)"),
    ("addbmm(2, x, 3, y[None], y[None])", "addbmm(x, y[None], y[None], beta=2, alpha=3)"),
]


@pytest.mark.parametrize("older, newer", OLDER)
def test_numbers_before_tensors(older, newer):
    names = {name: getattr(torch, name) for name in (older.split("(")[0],)} | {"x": torch.randn(2, 2), "y": torch.rand(2, 2) + 1}
    with pytest.warns(UserWarning, match="deprecated order"):
        result = eval(older, names)
    assert result.equal(eval(newer, names))


def test_numbers_before_tensors_in_place():
    x, y = torch.ones(2, 2), torch.ones(2, 2)
    with pytest.warns(UserWarning, match="give alpha by name"):
        x.add_(0.5, y).sub_(0.25, y)
    with pytest.warns(UserWarning, match="give beta by name"):
        x.addmm_(2, 3, y, y)
    assert x.tolist() == [[8.5, 8.5], [8.5, 8.5]]
    with pytest.raises(TypeError, match="too many arguments"):
        x.add_(y, 0.5, y)


def test_numbers_are_0_d_tensors_and_flags_too():
    x = torch.ones(2, 2)
    assert F.pad(x > 0, (1, 0), value=True).all() and F.pad(x, (1, 0), value=torch.tensor(2.0))[0].tolist() == [2, 1, 1]
    assert F.leaky_relu(-x, torch.tensor(0.5))[0, 0] == -0.5 and F.dropout(x, torch.tensor(0.0)).equal(x)
    assert F.layer_norm(x, (2,), eps=torch.tensor(1e-5)).equal(torch.zeros(2, 2)) and torch.quantile(x, True) == 1
    with pytest.raises(TypeError, match="keepdim is int"):
        torch.sum(x, 0, keepdim=1)
    with pytest.raises(TypeError, match="it takes a number"):
        F.leaky_relu(x, torch.ones(2))


def test_memory_formats_have_no_effect():
    x = torch.ones(2, 3)
    for like in (torch.zeros_like, torch.empty_like, torch.rand_like, lambda t, **o: torch.randint_like(t, 3, **o)):
        assert like(x, memory_format=torch.preserve_format).shape == (2, 3)


def test_randint_like_by_name():
    x = torch.zeros(50)
    assert set(torch.randint_like(x, high=2).tolist()) == {0, 1} and set(torch.randint_like(x, 3, high=5).tolist()) == {3, 4}
    with pytest.raises(TypeError, match="high"):
        torch.randint_like(x)
