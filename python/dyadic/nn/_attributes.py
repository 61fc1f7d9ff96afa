"""Attributes that PyTorch's layers have beside their arguments and parameters; other code reads them."""
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


def _mode(self):
    return f"RNN_{self.nonlinearity.upper()}" if self._record == "RNN" else self._record


_ATTENTION = classes["MultiheadAttention"]


def _width(name):
    """kdim or vdim: embed_dim where none is given."""
    size = _ATTENTION.__dict__[name]
    return property(lambda self: self.embed_dim if size.fget(self) is None else size.fget(self), size.fset, doc=size.__doc__)


_PROPERTIES = [
    (bases["_ConvNd"], "_reversed_padding_repeated_twice", _padding_twice, "padding as functional.pad takes it."),
    (bases["RNNBase"], "mode", _mode, "LSTM, GRU, RNN_TANH or RNN_RELU."),
    (bases["RNNBase"], "_all_weights", _weight_names, "The names of the parameters of each layer and direction."),
    (bases["RNNBase"], "_flat_weights_names", lambda self: sum(_weight_names(self), []), "The names of the parameters."),
    (bases["RNNBase"], "_flat_weights", lambda self: sum(self.all_weights, []), "The parameters."),
    (_ATTENTION, "head_dim", lambda self: self.embed_dim // self.num_heads, "The width of one head."),
    (_ATTENTION, "_qkv_same_embed_dim", lambda self: self.kdim == self.vdim == self.embed_dim, "Whether one weight projects all."),
]
for _class, _name, _get, _doc in _PROPERTIES:
    setattr(_class, _name, property(_get, doc=_doc))
for _n in (1, 2, 3):
    classes[f"Conv{_n}d"].transposed, classes[f"ConvTranspose{_n}d"].transposed = False, True
    classes[f"Conv{_n}d"].output_padding = (0,) * _n
    for _kind in ("BatchNorm", "InstanceNorm"):
        _dims = {1: (2, 3), 2: (4,), 3: (5,)}[_n] if _kind == "BatchNorm" else (_n + 1, _n + 2)
        classes[f"{_kind}{_n}d"]._check_input_dim = _check_dims(*_dims)
for _name in ("kdim", "vdim"):
    setattr(_ATTENTION, _name, _width(_name))
