"""rearrange and reduce as modules, and EinMix: a linear layer whose dimensions have names."""
import math

from .. import _dyadic
from .._dyadic import Module, Parameter
from . import einsum, rearrange, reduce

__all__ = ["EinMix", "Rearrange", "Reduce"]


class _Pattern(Module):
    def __init__(self, pattern, sizes):
        super().__init__()
        self.pattern, self.axes_lengths = pattern, sizes

    def extra_repr(self):
        return ", ".join([f"{self.pattern!r}", *(f"{name}={n}" for name, n in self.axes_lengths.items())])


class Rearrange(_Pattern):
    """rearrange(x, pattern, **axes_lengths) as a module."""

    def __init__(self, pattern, **axes_lengths):
        super().__init__(pattern, axes_lengths)

    def forward(self, input):
        return rearrange(input, self.pattern, **self.axes_lengths)


class Reduce(_Pattern):
    """reduce(x, pattern, reduction, **axes_lengths) as a module."""

    def __init__(self, pattern, reduction, **axes_lengths):
        super().__init__(pattern, axes_lengths)
        self.reduction = reduction

    def forward(self, input):
        return reduce(input, self.pattern, self.reduction, **self.axes_lengths)


def _flat(side):
    return side.replace("(", " ").replace(")", " ").split()


class EinMix(Module):
    """EinMix("b c h w -> b h w d", weight_shape="c d", bias_shape="d", c=3, d=8): the input times a weight, summed over the dimensions
    that the right side does not name, plus a bias. Dimensions may be composed on both sides: "b (head c) -> b head".

    weight_shape and bias_shape name dimensions of known size. Both begin uniform within sqrt(3 / n), n being what a result adds up.
    """

    def __init__(self, pattern, weight_shape, bias_shape=None, **axes_lengths):
        super().__init__()
        self.pattern, self.weight_shape, self.bias_shape, self.axes_lengths = pattern, weight_shape, bias_shape, axes_lengths
        left, arrow, right = (part.strip() for part in pattern.partition("->"))
        inside, outside, weight = _flat(left), _flat(right), weight_shape.split()
        if not arrow or "1" in inside + outside:
            raise RuntimeError(f'EinMix: a wrong pattern: "{pattern}": names on both sides of "->", no numbers')
        for name in weight + (bias_shape or "").split():
            if name not in axes_lengths:
                raise RuntimeError(f'EinMix: the size of "{name}" is not known; give it, as in {name}=2')
        lost = [name for name in outside if name not in inside + weight and name != "..."]
        unused = [name for name in weight if name not in inside + outside]
        odd = [name for name in (bias_shape or "").split() if name not in outside]
        if lost or unused or odd:
            what = f'"{(lost or unused or odd)[0]}" of {"the right side" if lost else "weight_shape" if unused else "bias_shape"}'
            raise RuntimeError(f'EinMix: {what} comes from nowhere: "{pattern}", weight "{weight_shape}", bias "{bias_shape or ""}"')
        summed = math.prod(axes_lengths[name] for name in weight if name not in outside)
        bound = math.sqrt(3 / summed)
        self.weight = Parameter(_dyadic.empty([axes_lengths[name] for name in weight]).uniform_(-bound, bound))
        self.bias = None
        if bias_shape is not None:
            # One size per dimension of the flat result, so that it broadcasts.
            biased, dots = bias_shape.split(), outside.index("...") + 1 if "..." in outside else 0
            sizes = [axes_lengths[name] if name in biased else 1 for name in outside[dots:]]
            if any(name in biased for name in outside[:dots]):
                raise RuntimeError(f'EinMix: the bias names dimensions before "...": "{pattern}"')
            self.bias = Parameter(_dyadic.empty(sizes).uniform_(-bound, bound))
        known = {name: n for name, n in axes_lengths.items()}
        self._before = (f"{left} -> {' '.join(inside)}", {k: n for k, n in known.items() if k in inside}) if "(" in left else None
        self._after = (f"{' '.join(outside)} -> {right}", {k: n for k, n in known.items() if k in outside}) if "(" in right else None
        self._mix = f"{' '.join(inside)}, {weight_shape} -> {' '.join(outside)}"

    def forward(self, input):
        x = rearrange(input, self._before[0], **self._before[1]) if self._before else input
        x = einsum(x, self.weight, self._mix)
        x = x if self.bias is None else x + self.bias
        return rearrange(x, self._after[0], **self._after[1]) if self._after else x

    def extra_repr(self):
        sizes = ", ".join(f"{name}={n}" for name, n in self.axes_lengths.items())
        return f"{self.pattern!r}, {self.weight_shape!r}, {self.bias_shape!r}, {sizes}"
