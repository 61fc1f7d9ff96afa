"""One class per layer record of the C++ library (_layer_records): its signature, documentation and attributes are the record's."""
import functools
import inspect
import warnings

from .._dyadic import _Layer, _layer_records, _own_dict
from .._records import ClassSignature
from .._records import annotation as _annotation
from .._records import default as _default
from ..autograd import no_grad
from . import _reduction, functional
from .utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
_TENSORS = ("weight", "bias", *_STATISTICS)
_OF_ATTENTION = ("bias_k", "bias_v", "in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight")
_KINDS = inspect.Parameter
_PLACE = {"device": _annotation("Device?"), "dtype": _annotation("dtype?")}


def same_padding(kernel_size, dilation, stride, n):
    """Zeros before and behind that keep sizes: all befores, then all behinds; the odd one stands behind."""
    spread = [list(v) if isinstance(v, (tuple, list)) else [v] * n for v in (kernel_size, dilation, stride)]
    kernel, gaps, steps = [v * n if len(v) == 1 else v for v in spread]
    if any(s != 1 for s in steps):
        raise ValueError(f'conv{n}d: padding "same" does not go with a stride: stride is {stride}')
    total = [d * (k - 1) for k, d in zip(kernel, gaps)]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


def read_padding(padding, kernel_size, dilation, stride, n):
    """padding, or the zeros that "same" and "valid" stand for."""
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return 0
    if padding == "same":
        return same_padding(kernel_size, dilation, stride, n)
    raise ValueError(f'conv{n}d: unknown padding "{padding}"; the known ones are same, valid and numbers')


_BY_TUPLE = ("Conv", "AvgPool1d", "MaxUnpool")  # these have their sizes as tuples, other layers as one number where it is one


def _as_given(value, given):
    """Numbers and sizes are kept as they were given, where C++ has them in another form."""
    if isinstance(given, (tuple, list)):
        return True
    return isinstance(value, float) and isinstance(given, int) and not isinstance(given, bool)


def _argument(i, name):
    def get(self):
        given = _own_dict(self).get("_given", {})
        if name in given:
            return given[name]
        value = self._argument(i)
        if name == "stride" and not value:
            return None if self._record.startswith("LP") else self.kernel_size
        if not isinstance(value, tuple) or self._record.startswith(_BY_TUPLE) or name == "normalized_shape":
            return value
        return value[0] if len(set(value)) == 1 else value

    def put(self, value):
        self._set_argument(i, value)
        _keep(self, i, name, value)

    return property(get, put, doc=f"The argument {name}.")


def _keep(self, i, name, given):
    kept = dict(_own_dict(self).get("_given", {}))
    kept.pop(name, None)
    if name != "scale_factor" and _as_given(self._argument(i), given):
        kept[name] = tuple(given) if isinstance(given, list) else given
    if kept or "_given" in _own_dict(self):
        _own_dict(self)["_given"] = kept


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


def _forward_max_pool(self, input):
    """The values, with return_indices also where in the input they stand."""
    if not self.return_indices:
        return _Layer.forward(self, input)
    arguments = (self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, True)
    return getattr(functional, f"max_pool{self._record[-2]}d")(input, *arguments)


def _forward_adaptive(self, input):
    """The values, with return_indices also where in the input they stand. A size of None is the input's."""
    name, indices = self._record, getattr(self, "return_indices", False)
    if not indices and "_sizes" not in _own_dict(self):
        return _Layer.forward(self, input)
    pool = getattr(functional, f"adaptive_{name[8:11].lower()}_pool{name[-2]}d")
    return pool(input, self.output_size, indices)


def _forward_softmax(self, input):
    """Over dim; where none was given, over PyTorch's choice."""
    if self._argument(0) is not None and "_implicit" not in _own_dict(self):
        return _Layer.forward(self, input)
    op = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Softmin": "softmin"}[self._record]
    return getattr(functional, op)(input)


def _forward_upsample(self, input):
    """The resized input, a factor for each dimension where there are several."""
    if "_scales" not in _own_dict(self) and not self.recompute_scale_factor:
        return _Layer.forward(self, input)
    mode, corners = getattr(self, "mode", "nearest"), getattr(self, "align_corners", None)
    if self._record == "UpsamplingBilinear2d":
        mode, corners = "bilinear", True
    return functional.interpolate(input, self.size, self.scale_factor, mode, corners, self.recompute_scale_factor)


def _reset_parameters(self):
    """Fresh values, as a new layer has them; running statistics begin anew."""
    fresh = _Layer(self._record, self._arguments(), {}, self._own_parameters()[0][1].dtype) if self._own_parameters() else self
    with no_grad():
        for (_, mine), (_, new) in zip(self._own_parameters(), fresh._own_parameters()):
            mine.copy_(new)
    if hasattr(self, "reset_running_stats"):
        self.reset_running_stats()


def _reset_running_stats(self):
    if self.running_mean is not None:
        self.running_mean.zero_()
        self.running_var.fill_(1)
        self.num_batches_tracked.zero_()


def _load_norm(self, state_dict, prefix, local_metadata, *rest):
    """States of before version 2 do not count batches."""
    key = prefix + "num_batches_tracked"
    if (local_metadata.get("version") or 1) < 2 and self.num_batches_tracked is not None:
        state_dict.setdefault(key, self.num_batches_tracked)
    _Layer._load_from_state_dict(self, state_dict, prefix, local_metadata, *rest)


def _flatten_parameters(self):
    """Nothing happens: the parameters are read where they are."""


def _all_weights(self):
    """The parameters of each layer and direction."""
    named, all_weights = dict(self._own_parameters()), {}
    for name, p in named.items():
        all_weights.setdefault(name[name.rindex("_l") :], []).append(p)
    return list(all_weights.values())


_RECORDS = {record["name"]: record for record in _layer_records()}


def _family(record):
    """The name of PyTorch's base class of a layer, for isinstance; None where it has none but Module."""
    name, stem = record["name"], record["name"][:-2]
    if "dropout" in (record["op"] or ""):
        return "_DropoutNd"
    if name.endswith("Cell"):
        return "RNNCellBase"
    if {"num_layers", "batch_first"} <= {p for p, _, _ in record["parameters"]}:
        return "RNNBase"
    if all(f"{stem}{n}d" in _RECORDS for n in (1, 2, 3)):
        return f"_{stem}" if stem.endswith("Norm") else f"_{stem}Nd"
    return None


_ABOVE = {"_BatchNorm": "_NormBase", "_InstanceNorm": "_NormBase", "_ConvTransposeNd": "_ConvNd"}
bases = {}
for _name in ("_NormBase", *filter(None, map(_family, _RECORDS.values()))):
    bases.setdefault(_name, type(_name, (bases.get(_ABOVE.get(_name), _Layer),), {"__module__": "dyadic.nn"}))
bases["_NormBase"].reset_running_stats, bases["_NormBase"]._version = _reset_running_stats, 2
bases["_NormBase"]._load_from_state_dict = _load_norm
bases["RNNBase"].flatten_parameters = _flatten_parameters
bases["RNNBase"].all_weights = property(_all_weights)


_FORWARDS = {"LSTM": _forward_lstm, "LSTMCell": _forward_lstm_cell, "RNN": _forward_recurrent, "GRU": _forward_recurrent}
_FORWARDS |= {f"MaxPool{n}d": _forward_max_pool for n in (1, 2, 3)}
_FORWARDS |= {f"Adaptive{kind}Pool{n}d": _forward_adaptive for kind in ("Avg", "Max") for n in (1, 2, 3)}
_FORWARDS |= {name: _forward_upsample for name in ("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d")}
_FORWARDS |= {name: _forward_softmax for name in ("Softmax", "LogSoftmax", "Softmin")}


def _argument_of(layer, name, kind, text):
    words = layer.startswith("Conv") and name == "padding"
    functions = name == "activation"
    type_ = _annotation(kind, text, "str" if words else "Callable[[Tensor], Tensor]" if functions else "")
    return _KINDS(name, _KINDS.POSITIONAL_OR_KEYWORD, default=_default(text), annotation=type_)


def _with_place(record, parameters):
    """The signature with device and dtype: by position, too, where PyTorch has them so."""
    name, kind = record["name"], _KINDS.KEYWORD_ONLY
    if record["trained"] and name not in ("RNN", "GRU"):
        kind = _KINDS.POSITIONAL_OR_KEYWORD
        if name.startswith("ConvTranspose"):
            parameters = [*parameters, _KINDS("padding_mode", kind, default="zeros", annotation=_annotation("str"))]
        if name.startswith(("BatchNorm", "InstanceNorm", "GroupNorm")):
            parameters = [*parameters[:-1], parameters[-1].replace(kind=_KINDS.KEYWORD_ONLY)]
    behind = [p for p in parameters if p.kind is _KINDS.KEYWORD_ONLY]
    place = [_KINDS(p, kind, default=None, annotation=type_) for p, type_ in _PLACE.items()]
    return inspect.Signature([p for p in parameters if p not in behind] + place + behind)


def _check_dropout(name, given):
    """Between layers, so of one layer there is none."""
    given.apply_defaults()
    p, layers = given.arguments["dropout"], given.arguments["num_layers"]
    if isinstance(p, (int, float)) and 0 < p <= 1 and layers == 1:
        text = f"{name}: dropout is {p}, but num_layers is 1: it drops between layers, so nothing is dropped"
        warnings.warn(text, UserWarning, stacklevel=3)


def _make(record):
    name, parameters, rank = record["name"], record["parameters"], record["rank"]
    names = [p for p, _, _ in parameters]
    older = _reduction.is_older(name, names)
    absent = [p for p, kind, _ in parameters if kind == "Tensor"]
    optional = []  # parameters that are registered as None where the arguments leave them out
    if record["trained"] and record["op"]:
        absent += _TENSORS
        optional = ["weight", "bias"] if {"bias", "affine"} & set(names) else ["weight"]

    if name == "MultiheadAttention":
        absent += _OF_ATTENTION

    @functools.cache
    def signature():
        return _with_place(record, _reduction.with_older(name, [_argument_of(name, *p) for p in parameters]))

    @functools.cache
    def ahead():  # arguments that stand before the place
        return list(signature().parameters).index("device") if record["trained"] else len(signature().parameters)

    def __init__(self, *args, dtype=None, device=None, **kwargs):
        word = None  # in the place of numbers for padding
        if len(args) > ahead():
            place = {key: value for key, value in (("dtype", dtype), ("device", device)) if value is not None}
            args, kwargs = (), dict(signature().bind(*args, **kwargs, **place).arguments)
            dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
        if "num_layers" in names:
            _check_dropout(name, signature().bind(*args, **kwargs))
        if older:
            args, kwargs = (), _reduction.read(dict(signature().bind(*args, **kwargs).arguments))
        if name.startswith("Conv") and "Transpose" not in name:
            bound = signature().bind(*args, **kwargs)
            bound.apply_defaults()
            bound_to = bound.arguments
            if isinstance(bound_to["padding"], str):
                word = bound_to["padding"]
                padding = read_padding(word, bound_to["kernel_size"], bound_to["dilation"], bound_to["stride"], rank)
                args, kwargs = args[:4], {**kwargs, "padding": padding}
                if len(bound.args) > 5:
                    kwargs.update({p: bound_to[p] for p, _, _ in parameters[5:]})
        if name.startswith("ConvTranspose"):
            if len(args) == 10:
                args, kwargs = args[:9], {**kwargs, "padding_mode": args[9]}
            if kwargs.pop("padding_mode", "zeros") != "zeros":
                raise ValueError(f'Only "zeros" padding mode is supported for {name}')
        if _FORWARDS.get(name) is _forward_softmax and (args or [kwargs.get("dim")])[0] is None:
            args, kwargs = (), {}
            self._implicit = True
        if name.startswith("Adaptive"):
            sizes = args[0] if args else kwargs.get("output_size")
            if sizes is None or isinstance(sizes, (tuple, list)) and None in sizes:
                self._sizes, rest = (tuple(sizes) if sizes else (None,) * rank), {"output_size": 1}
                args, kwargs = (), {**kwargs, **rest, **({"return_indices": args[1]} if len(args) > 1 else {})}
        if name.startswith("Upsampl"):
            kwargs = {**dict(zip(names, args)), **kwargs}
            args, self.recompute_scale_factor = (), kwargs.pop("recompute_scale_factor", None)
            if isinstance(kwargs.get("scale_factor"), (tuple, list)):
                self._scales = tuple(map(float, kwargs.pop("scale_factor")))
        given = {**dict(zip(names, args)), **kwargs}
        args, kwargs = _by_name(args, kwargs)
        _Layer.__init__(self, name, args, kwargs, dtype, device)
        for i, p in enumerate(names):
            if isinstance(given.get(p), (int, tuple, list)):
                _keep(self, i, p, given[p])
        if word:
            _own_dict(self).setdefault("_given", {})["padding"] = word
        for tensor in optional:
            if not hasattr(self, tensor):
                self.register_parameter(tensor, None)
        if record["trained"] and isinstance(self, bases["_NormBase"]) and not hasattr(self, "running_mean"):
            for tensor in _STATISTICS:
                self.register_buffer(tensor, None)
        for tensor in absent:
            if not hasattr(self, tensor):
                setattr(self, tensor, None)
        if reset and getattr(type(self), reset) is not _reset_parameters:  # a derived class begins in its own way
            getattr(self, reset)()

    reset = None
    if record["trained"] and not name.startswith("Transformer"):
        reset = "_reset_parameters" if name == "MultiheadAttention" else "reset_parameters"
    body = {"__init__": __init__, "__doc__": record["doc"] + "\n\n" + record["signature"], "__module__": "dyadic.nn", "_layer_name": name}
    for i, (p, kind, _) in enumerate(parameters):
        child = p == "dropout" and name.startswith("Transformer")  # there it is the module of that name
        if kind != "Tensor" and (p != "bias" or not record["op"]) and not child:
            body[p] = _argument(i, p)
    if name.startswith("Adaptive"):
        size = body["output_size"].fget
        body["output_size"] = property(lambda self: _own_dict(self).get("_sizes") or size(self), doc="The sizes of the result; None: the input's.")
    if name.startswith("Upsampl"):
        scale = body["scale_factor"]
        body["scale_factor"] = property(lambda self: _own_dict(self).get("_scales") or scale.fget(self), scale.fset, doc="Of each dimension, or one for each.")
    if name in _FORWARDS:
        body["forward"] = _FORWARDS[name]
    if name.startswith("ConvTranspose"):
        body["padding_mode"] = "zeros"
    body["_argument_names"] = tuple(p for p, _, _ in parameters if isinstance(body.get(p), property))
    if reset:
        body[reset] = body["reset_parameters"] = _reset_parameters
    made = type(name, (bases.get(_family(record), _Layer),), body)
    made.__signature__ = ClassSignature(made, signature)
    return made


classes = {name: _make(record) for name, record in _RECORDS.items()}
