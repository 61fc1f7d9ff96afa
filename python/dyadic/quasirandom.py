"""Points that fill the unit cube evenly."""
from . import _dyadic
from ._dyadic import _SobolEngine

__all__ = ["SobolEngine"]


class SobolEngine:
    """Sobol's sequence in [0, 1)^dimension, the origin first (direction numbers: S. Joe and F. Y. Kuo, 2008). scramble: moved and mixed
    at random, by the seed or else by the default generator, so that each point is uniform and together they are as even."""

    MAXBIT = 30
    MAXDIM = _SobolEngine.largest()

    def __init__(self, dimension, scramble=False, seed=None):
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._engine = _SobolEngine(dimension, bool(scramble), None if seed is None else seed % 2**64)

    @property
    def num_generated(self):
        """How many points are drawn or left out."""
        return self._engine.num_generated

    def _given(self, points, out, dtype):
        points = points.to(dtype or _dyadic.get_default_dtype())
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, [n, dimension]."""
        return self._given(self._engine.draw(n), out, dtype)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points; refused unless all that are drawn are then a power of 2 in number."""
        return self._given(self._engine.draw_base2(m), out, dtype)

    def fast_forward(self, n):
        """self, with n points left out."""
        self._engine.fast_forward(n)
        return self

    def reset(self):
        """self, which begins anew, scrambled as before."""
        self._engine.reset()
        return self

    def __deepcopy__(self, memo):
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _engine=self._engine.copy())
        return made

    def __repr__(self):
        shown = [f"dimension={self.dimension}"] + ["scramble=True"] * bool(self.scramble) + [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(shown)})"
