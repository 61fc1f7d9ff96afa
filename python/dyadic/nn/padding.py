"""Borders around signals, images and volumes: functional.pad as modules."""
from .._dyadic import Module, pad

__all__ = []


class _Pad(Module):
    _dims: int
    _mode: str

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self._dims:
            name = type(self).__name__
            many = f"one number or {2 * self._dims}, two for each dimension from the last"
            raise ValueError(f"{name}: padding is {many}: it is {list(self.padding)}")

    def forward(self, input):
        return pad(input, list(self.padding), self._mode, getattr(self, "value", None))

    def extra_repr(self):
        shown = self._mode == "constant" and type(self).__name__.startswith("Constant")
        return f"padding={self.padding}, value={self.value}" if shown else str(self.padding)


def _constant(self, padding, value):
    _Pad.__init__(self, padding)
    self.value = value


def _zero(self, padding):
    _constant(self, padding, 0.0)


_KINDS = {
    "ConstantPad": ("constant", "One value around the input.", {"__init__": _constant}),
    "ZeroPad": ("constant", "Zeros around the input.", {"__init__": _zero}),
    "ReflectionPad": ("reflect", "The input mirrored at its edges, which are not repeated.", {}),
    "ReplicationPad": ("replicate", "The edges of the input repeated.", {}),
    "CircularPad": ("circular", "Around the input its other end.", {}),
}
for _kind, (_mode, _doc, _body) in _KINDS.items():
    for _n in (1, 2, 3):
        _name = f"{_kind}{_n}d"
        globals()[_name] = type(_name, (_Pad,), {"__module__": "dyadic.nn", "__doc__": _doc, "_dims": _n, "_mode": _mode, **_body})
        __all__.append(_name)
