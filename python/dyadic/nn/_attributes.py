"""Attributes that PyTorch's layers have beside their arguments and parameters; other code reads them."""
from .._dyadic import LayerNorm
from ._layers import bases, classes


def _check_dims(*allowed):
    def check(self, input):
        if input.dim() not in allowed:
            wanted = " or ".join(f"{n}D" for n in allowed)
            raise ValueError(f"{type(self).__name__}: the input is {wanted}: it is {input.dim()}D")

    return check


def _padding_twice(self):
    numbers, n = self._argument(4), len(self.kernel_size)  # where padding is a word: all befores, then all behinds
    before, behind = numbers[:n], numbers[-n:]
    return tuple(p for d in reversed(range(n)) for p in (before[d], behind[d]))


def _weight_names(self):
    by_layer = {}
    for name, _ in self._own_parameters():
        by_layer.setdefault(name[name.rindex("_l") :], []).append(name)
    return list(by_layer.values())


def _width(name):
    size = classes["MultiheadAttention"].__dict__[name]
    return property(lambda self: self.embed_dim if size.fget(self) is None else size.fget(self), size.fset, doc=size.__doc__)


_PROPERTIES = {
    bases["_ConvNd"]: {"_reversed_padding_repeated_twice": _padding_twice},
    LayerNorm: {"elementwise_affine": lambda self: self.weight is not None},
    bases["RNNBase"]: {
        "mode": lambda self: f"RNN_{self.nonlinearity.upper()}" if self._record == "RNN" else self._record,
        "_all_weights": _weight_names,
        "_flat_weights_names": lambda self: [name for names in _weight_names(self) for name in names],
        "_flat_weights": lambda self: [p for parameters in self.all_weights for p in parameters],
    },
    classes["MultiheadAttention"]: {
        "head_dim": lambda self: self.embed_dim // self.num_heads,
        "_qkv_same_embed_dim": lambda self: self.kdim == self.vdim == self.embed_dim,
    },
}

for _class, _named in _PROPERTIES.items():
    for _name, _get in _named.items():
        setattr(_class, _name, property(_get))
for _n in (1, 2, 3):
    classes[f"Conv{_n}d"].transposed, classes[f"ConvTranspose{_n}d"].transposed = False, True
    classes[f"Conv{_n}d"].output_padding = (0,) * _n
    for _kind in ("BatchNorm", "InstanceNorm"):
        _dims = {1: (2, 3), 2: (4,), 3: (5,)}[_n] if _kind == "BatchNorm" else (_n + 1, _n + 2)
        classes[f"{_kind}{_n}d"]._check_input_dim = _check_dims(*_dims)
for _name in ("kdim", "vdim"):
    setattr(classes["MultiheadAttention"], _name, _width(_name))
