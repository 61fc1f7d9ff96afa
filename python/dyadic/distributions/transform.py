"""What all transforms have in common, and those that are made of others."""
import copy
import math

from .. import _dyadic
from .._construct import as_tensor
from . import constraints
from .utils import sum_rightmost


def _over(constraint, n):
    """The constraint over n further dimensions together."""
    return constraints.independent(constraint, n) if n else constraint


class Transform:
    """y = t(x), x = t.inv(y); log_abs_det_jacobian(x, y) is log |dy/dx|, one number for domain.event_dim dimensions of x."""

    bijective = True
    domain = codomain = constraints.real

    def __init__(self, cache_size=0):
        self._cache_size = cache_size
        self._last = None, None  # so that an inverse that loses digits is not taken

    def __call__(self, x):
        if self._cache_size and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        self._last = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y):
        if self._cache_size and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        self._last = (x, y) if self._cache_size else (None, None)
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__}: there is no _call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__}: there is no _inverse")

    @property
    def inv(self):
        """The inverse as a transform."""
        return _Inverse(self)

    @property
    def sign(self):
        """1 where it rises, -1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__}: there is no sign")

    @property
    def event_dim(self):
        """Over how many last dimensions together."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(f"{type(self).__name__}: x and y differ in event_dim; ask domain.event_dim and codomain.event_dim")
        return self.domain.event_dim

    def with_cache(self, cache_size=1):
        """The transform with a memory of its last x and y, or without (0)."""
        if cache_size == self._cache_size:
            return self
        made = copy.copy(self)
        made._cache_size, made._last = cache_size, (None, None)
        return made

    def forward_shape(self, shape):
        """The shape of y for that of x."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for that of y."""
        return shape

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, added up over the last event_dim dimensions."""
        raise NotImplementedError(f"{type(self).__name__}: there is no log_abs_det_jacobian")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"{type(self).__name__}()"


def _same(a, b):
    """Whether two parameters, numbers or tensors, are equal."""
    return a is b or bool(_dyadic.eq(as_tensor(a), as_tensor(b)).all())


class _Rising(Transform):
    """A rising function of single numbers without parameters: all of its kind are equal."""

    sign = 1

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = Transform.__hash__


class _Inverse(Transform):
    def __init__(self, transform):
        super().__init__()
        self._of = transform

    def __repr__(self):
        return f"_InverseTransform({self._of})"

    inv = property(lambda self: self._of)
    sign = property(lambda self: self._of.sign)
    bijective = property(lambda self: self._of.bijective)
    domain = property(lambda self: self._of.codomain)
    codomain = property(lambda self: self._of.domain)

    def __call__(self, x):
        return self._of._inv_call(x)

    def _inv_call(self, y):
        return self._of(y)

    def with_cache(self, cache_size=1):
        return self._of.with_cache(cache_size).inv

    def forward_shape(self, shape):
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._of.forward_shape(shape)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)

    def __eq__(self, other):
        return isinstance(other, _Inverse) and self._of == other._of

    __hash__ = Transform.__hash__


class ComposeTransform(Transform):
    """Several, the first one first."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) if cache_size else p for p in parts]

    bijective = property(lambda self: all(p.bijective for p in self.parts))

    @property
    def sign(self):
        sign = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    def _ends(self):
        """The dimensions of x and of y that belong together: each part gets the most that any of them needs."""
        first = 0
        for p in reversed(self.parts):
            first = max(first + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        last = first
        for p in self.parts:
            last += p.codomain.event_dim - p.domain.event_dim
        return first, last

    @property
    def domain(self):
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        return _over(first, self._ends()[0] - first.event_dim)

    @property
    def codomain(self):
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        return _over(last, self._ends()[1] - last.event_dim)

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else ComposeTransform([p.with_cache(cache_size) for p in self.parts], cache_size)

    def __repr__(self):
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p.inv(y)
        return y

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return shape

    def log_abs_det_jacobian(self, x, y):
        total, event = 0.0, self._ends()[0]
        for p in self.parts:
            after = p(x)
            total = total + sum_rightmost(p.log_abs_det_jacobian(x, after), event - p.domain.event_dim)
            event += p.codomain.event_dim - p.domain.event_dim
            x = after
        return total if self.parts else _dyadic.zeros_like(x)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """base_transform whose last reinterpreted_batch_ndims batch dimensions belong to the event too."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)
    domain = property(lambda self: _over(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: _over(self.base_transform.codomain, self.reinterpreted_batch_ndims))

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform.inv(y)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of shape in_shape as events of shape out_shape."""

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"ReshapeTransform: the shapes have different numbers of elements: {self.in_shape}, {self.out_shape}")

    domain = property(lambda self: _over(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: _over(constraints.real, len(self.out_shape)))

    def _batch(self, shape, event):
        at = len(shape) - len(event)
        if at < 0 or tuple(shape[at:]) != event:
            raise ValueError(f"ReshapeTransform: the value's shape {tuple(shape)} does not end with {event}")
        return tuple(shape[:at])

    def _call(self, x):
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y):
        return y.reshape(self.inverse_shape(y.shape))

    def forward_shape(self, shape):
        return self._batch(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape):
        return self._batch(shape, self.out_shape) + self.in_shape

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(self._batch(x.shape, self.in_shape))
