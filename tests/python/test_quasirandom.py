"""SobolEngine from Python; its points are C++'s tests."""
import copy

import pytest

import dyadic as torch
from dyadic.quasirandom import SobolEngine


def test_points():
    engine = SobolEngine(3)
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    assert engine.num_generated == 4 and engine.draw(2, dtype=torch.float64).dtype == torch.float64
    out = torch.empty(0)
    assert engine.reset().fast_forward(1).draw(out=out) is out and out.tolist() == [[0.5] * 3]
    with pytest.raises(ValueError, match="a power of 2 in number"):
        engine.draw_base2(3)
    with pytest.raises(ValueError, match="dimension is 1 to 1111"):
        SobolEngine(0)


def test_scrambled():
    a, b = SobolEngine(5, scramble=True, seed=3), SobolEngine(5, scramble=True, seed=3)
    points = a.draw_base2(6)
    assert torch.equal(points, b.draw(64)) and not torch.equal(points, SobolEngine(5, True, 4).draw(64))
    assert all((points * 64).floor()[:, d].unique().numel() == 64 for d in range(5))
    assert repr(a) == "SobolEngine(dimension=5, scramble=True, seed=3)"
    other = copy.deepcopy(a)
    assert torch.equal(a.draw(3), other.draw(3))
    torch.manual_seed(1)
    one = SobolEngine(2, True).draw(3)
    torch.manual_seed(1)
    assert torch.equal(one, SobolEngine(2, True).draw(3))
