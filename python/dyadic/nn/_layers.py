"""One class per layer record of the C++ library (_layer_records): its signature, documentation and attributes are the record's."""
import inspect

from .._dyadic import _Layer, _layer_records
from .._records import default as _default
from .utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

_TENSORS = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
_KINDS = inspect.Parameter


def same_padding(kernel_size, dilation, stride, n):
    """Zeros before and behind that keep sizes: all befores, then all behinds; the odd one stands behind."""
    spread = [list(v) if isinstance(v, (tuple, list)) else [v] * n for v in (kernel_size, dilation, stride)]
    kernel, gaps, steps = [v * n if len(v) == 1 else v for v in spread]
    if any(s != 1 for s in steps):
        raise ValueError(f'conv{n}d: padding "same" does not go with a stride: stride is {stride}')
    total = [d * (k - 1) for k, d in zip(kernel, gaps)]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


def read_padding(padding, kernel_size, dilation, stride, n):
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return 0
    if padding == "same":
        return same_padding(kernel_size, dilation, stride, n)
    raise ValueError(f'conv{n}d: unknown padding "{padding}"; the known ones are same, valid and numbers')


def _argument(i, name):
    return property(lambda self: self._argument(i), lambda self, value: self._set_argument(i, value), doc=f"The argument {name}.")


def _by_name(args, kwargs):
    """An activation that is a function stands for the op of its name."""
    name = lambda v: v.__name__ if callable(v) and not isinstance(v, type) else v
    return tuple(map(name, args)), {key: name(v) for key, v in kwargs.items()}


def _forward_packed(self, packed, states):
    """The layer over a PackedSequence: output packed alike, and the states where each sequence ends."""
    padded, lengths = pad_packed_sequence(packed._replace(unsorted_indices=None), self.batch_first)
    reordered = lambda t, order: t if t is None or order is None else t.index_select(1, order)
    given = [reordered(t, packed.sorted_indices) for t in states]
    output, *last = _Layer.forward(self, padded, *given, lengths)
    data = pack_padded_sequence(output, lengths, self.batch_first).data
    return packed._replace(data=data), [reordered(t, packed.unsorted_indices) for t in last]


def _forward_lstm(self, input, hx=None):
    """output, (h_n, c_n) of input and, unless they are zeros, hx = (h_0, c_0). input may be a PackedSequence."""
    if isinstance(input, PackedSequence):
        output, states = _forward_packed(self, input, hx or (None, None))
        return output, tuple(states)
    output, h, c = _Layer.forward(self, input, *(hx or ()))
    return output, (h, c)


def _forward_recurrent(self, input, hx=None):
    """output, h_n of input and, unless it is zeros, hx = h_0. input may be a PackedSequence."""
    if isinstance(input, PackedSequence):
        output, states = _forward_packed(self, input, (hx,))
        return output, states[0]
    return _Layer.forward(self, input, hx)


def _forward_lstm_cell(self, input, hx=None):
    """The next (h, c) of input and, unless they are zeros, hx = (h, c)."""
    return _Layer.forward(self, input, *(hx or ()))


_FORWARDS = {"LSTM": _forward_lstm, "LSTMCell": _forward_lstm_cell, "RNN": _forward_recurrent, "GRU": _forward_recurrent}


def _make(record):
    name, parameters, rank = record["name"], record["parameters"], record["rank"]
    signature = inspect.Signature(
        [_KINDS(p, _KINDS.POSITIONAL_OR_KEYWORD, default=_default(text)) for p, _, text in parameters]
        + [_KINDS(p, _KINDS.KEYWORD_ONLY, default=None) for p in ("dtype", "device")]
    )
    absent = [p for p, kind, _ in parameters if kind == "Tensor"]
    if record["trained"] and record["op"]:
        absent += _TENSORS

    def __init__(self, *args, dtype=None, device=None, **kwargs):
        if name.startswith("Conv") and "Transpose" not in name:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            if isinstance(given["padding"], str):
                padding = read_padding(given["padding"], given["kernel_size"], given["dilation"], given["stride"], rank)
                args, kwargs = args[:4], {**kwargs, "padding": padding}
                if len(bound.args) > 5:
                    kwargs.update({p: given[p] for p, _, _ in parameters[5:]})
        args, kwargs = _by_name(args, kwargs)
        _Layer.__init__(self, name, args, kwargs, dtype, device)
        for tensor in absent:
            if not hasattr(self, tensor):
                setattr(self, tensor, None)

    body = {"__init__": __init__, "__doc__": record["doc"] + "\n\n" + record["signature"], "__module__": "dyadic.nn"}
    for i, (p, kind, _) in enumerate(parameters):
        child = p == "dropout" and name.startswith("Transformer")  # there it is the module of that name
        if kind != "Tensor" and (p != "bias" or not record["op"]) and not child:
            body[p] = _argument(i, p)
    if name in _FORWARDS:
        body["forward"] = _FORWARDS[name]
    made = type(name, (_Layer,), body)
    made.__signature__ = signature
    return made


classes = {record["name"]: _make(record) for record in _layer_records()}
