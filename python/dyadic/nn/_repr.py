"""What modules print, in PyTorch's words: a line per module of the tree, with what it was made with."""
from .._dyadic import Embedding, LayerNorm, Linear, Module, ModuleList, _own_dict
from ._layers import classes


def _indented(text):
    return text.replace("\n", "\n  ")


def _children(named):
    return [f"({name}): {_indented(repr(m))}" for name, m in named]


def _numbered(named):
    """Equal ones that follow each other are one line."""
    runs = []  # first, last, text
    for i, (_, m) in enumerate(named):
        text = repr(m)
        if runs and runs[-1][2] == text:
            runs[-1][1] = i
        else:
            runs.append([i, i, text])
    return [f"({a}): {_indented(text)}" if a == b else f"({a}-{b}): {b - a + 1} x {_indented(text)}" for a, b, text in runs]


def _repr(self):
    extra, named = self.extra_repr(), self._module_entries()
    parts = _numbered(named) if isinstance(self, ModuleList) else _children(named)
    if isinstance(self, classes["MultiheadAttention"]):
        parts = [part.replace("(out_proj): Linear(", "(out_proj): NonDynamicallyQuantizableLinear(") for part in parts]
    lines = extra.split("\n") if extra else []
    if len(lines) == 1 and not parts:
        return f"{self._get_name()}({lines[0]})"
    inside = "".join("\n  " + line for line in lines + parts)
    return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"


Module.__repr__ = _repr
Module._get_name = lambda self: ("Parametrized" if "_parametrization_hook" in _own_dict(self) else "") + type(self).__name__


# What a class shows between its brackets: names of attributes, and templates where PyTorch shows less or other things.

_NORM = "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={has_bias}, track_running_stats={track_running_stats}"
_POOL = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
_TEMPLATES = {
    **{f"{kind}Norm{n}d": _NORM for kind in ("Batch", "Instance") for n in (1, 2, 3)},
    **{f"MaxPool{n}d": _POOL + ", dilation={dilation}, ceil_mode={ceil_mode}" for n in (1, 2, 3)},
    **{f"AvgPool{n}d": _POOL for n in (1, 2, 3)},
    **{f"MaxUnpool{n}d": _POOL for n in (1, 2, 3)},
    **{f"LPPool{n}d": "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}" for n in (1, 2, 3)},
    **{f"Adaptive{kind}Pool{n}d": "output_size={output_size}" for kind in ("Avg", "Max") for n in (1, 2, 3)},
    **dict.fromkeys(["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"], "p={p}, inplace={inplace}"),
    **dict.fromkeys(["Softmax", "LogSoftmax", "Softmin", "GLU"], "dim={dim}"),
    **dict.fromkeys(["ELU", "CELU"], "alpha={alpha}{, written}"),
    **dict.fromkeys(["Hardshrink", "Softshrink"], "{lambd}"),
    **dict.fromkeys(["SELU", "SiLU", "Mish", "ReLU", "ReLU6"], "{written}"),
    "LeakyReLU": "negative_slope={negative_slope}{, written}",
    "Hardtanh": "min_val={min_val}, max_val={max_val}{, written}",
    "GELU": "approximate={approximate!r}",
    "PReLU": "num_parameters={num_parameters}",
    "Softplus": "beta={beta}, threshold={threshold}",
    "Threshold": "threshold={threshold}, value={value}{, written}",
    "RReLU": "lower={lower}, upper={upper}{, written}",
    "GroupNorm": "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={has_bias}",
    "RMSNorm": "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}",
    "LocalResponseNorm": "{size}, alpha={alpha}, beta={beta}, k={k}",
    "Flatten": "start_dim={start_dim}, end_dim={end_dim}",
    "PixelShuffle": "upscale_factor={upscale_factor}",
    "PixelUnshuffle": "downscale_factor={downscale_factor}",
    "ChannelShuffle": "groups={groups}",
    "Fold": "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
    "Unfold": "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
    "Bilinear": "in1_features={in1_features}, in2_features={in2_features}, out_features={out_features}, bias={has_bias}",
}


class _Shown(dict):
    """The attributes of a module by the names of a template."""

    def __init__(self, module):
        super().__init__()
        self._module = module

    def __missing__(self, name):
        m = self._module
        if name.endswith("written"):
            return name.replace("written", "inplace=True") if m.inplace else ""
        if name == "has_bias":
            return m.bias is not None
        return getattr(m, name)


def _by_template(template):
    return lambda self: template.format_map(_Shown(self))


def _conv(self):
    n = len(self.kernel_size)
    text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
    given = self.padding
    if given != (0,) * n:
        text += f", padding={given}"
    for name, usual in (("dilation", (1,) * n), ("output_padding", (0,) * n), ("groups", 1)):
        value = getattr(self, name, usual)
        if value != usual:
            text += f", {name}={value}"
    if self.bias is None:
        text += ", bias=False"
    return text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode}"


def _recurrent(self):
    text = f"{self.input_size}, {self.hidden_size}"
    usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
    for name, value in usual.items():
        if getattr(self, name, value) != value:
            text += f", {name}={getattr(self, name)}"
    return text


def _cell(self):
    text = f"{self.input_size}, {self.hidden_size}" + (f", bias={self.bias}" if self.bias is not True else "")
    nonlinearity = getattr(self, "nonlinearity", "tanh")
    return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


def _upsample(self):
    given = f"size={self.size}" if self.size else f"scale_factor={self.scale_factor}"
    return f"{given}, mode={getattr(self, 'mode', 'nearest')!r}"


def _table(self):
    text = f"{self.num_embeddings}, {self.embedding_dim}"
    usual = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
    for name, value in usual.items():
        if getattr(self, name, value) != value and (name not in ("padding_idx", "sparse") or not hasattr(self, "mode")):
            text += f", {name}={getattr(self, name)}"
    return text


def _bag(self):
    return f"{_table(self)}, mode={self.mode!r}" + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")


_FUNCTIONS = {f"Conv{t}{n}d": _conv for t in ("", "Transpose") for n in (1, 2, 3)}
_FUNCTIONS |= {name: _recurrent for name in ("RNN", "LSTM", "GRU")} | {name + "Cell": _cell for name in ("RNN", "LSTM", "GRU")}
_FUNCTIONS |= dict.fromkeys(["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"], _upsample) | {"EmbeddingBag": _bag}
_FUNCTIONS |= {name: _by_template(template) for name, template in _TEMPLATES.items()}

for _name, _class in classes.items():
    _class.extra_repr = _FUNCTIONS.get(_name) or (lambda self: "")

Linear.extra_repr = lambda m: f"in_features={m.in_features}, out_features={m.out_features}, bias={m.bias is not None}"
Embedding.extra_repr = _table
LayerNorm.extra_repr = lambda m: (
    f"{m.normalized_shape}, eps={m.eps}, elementwise_affine={m.weight is not None}, bias={m.bias is not None}"
)
