"""The cross entropy of a linear layer's results, whole or in bands of rows: logits [N, classes] are then never there at once."""
import dataclasses
import warnings

from .. import _dyadic
from .._ignored import ignored
from ..utils.checkpoint import checkpoint

_BAND_BYTES = 256 << 20  # of a band's logits in float32, unless batch_chunk_size says otherwise
_FEWEST_ROWS = 64


@ignored("allow_retain_graph", why="backward can always be called again", of="nn.LinearCrossEntropyOptions")
@ignored("chunking_method", "acc_policy", why="there is one way: bands of rows, each computed again in backward", of="nn.LinearCrossEntropyOptions")
@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """That linear_cross_entropy makes its logits in bands of rows, each again in backward. batch_chunk_size: rows of a band; by default as many
    as have 256 MiB of logits, 64 at least. acc_dtype: what bands' losses are added in, by default input's dtype, float32 at least."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        if self.batch_chunk_size is not None and self.batch_chunk_size < 1:
            raise ValueError(f"LinearCrossEntropyOptions: a band has 1 row at least; batch_chunk_size is {self.batch_chunk_size}")


def _whole(input, linear_weight, target, linear_bias, weight, ignore_index, reduction, label_smoothing):
    *shape, columns = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _dyadic.linear(input, linear_weight.reshape(-1, columns), bias).reshape([*input.shape[:-1], *shape])
    return _dyadic.cross_entropy(logits, target, weight, ignore_index, reduction, label_smoothing)


def _in_bands(options, input, linear_weight, target, linear_bias, weight, ignore_index, reduction, label_smoothing):
    rows, classes = input.shape[0], linear_weight.shape[0]
    dtype = options.acc_dtype or _dyadic.promote_types(input.dtype, _dyadic.float32)
    band = options.batch_chunk_size or max(_BAND_BYTES // (4 * max(classes, 1)), _FEWEST_ROWS)

    def loss(x, y, w, b):
        logits = _dyadic.linear(x, w, b).to(dtype)
        return _dyadic.cross_entropy(logits, y, None if weight is None else weight.to(dtype), ignore_index, "none" if reduction == "none" else "sum",
                                     label_smoothing)

    losses = [checkpoint(loss, input[i : i + band], target[i : i + band], linear_weight, linear_bias) for i in range(0, rows, band)]
    if reduction == "none":
        return _dyadic.cat(losses).to(input.dtype)
    total = sum(losses[1:], losses[0])
    if reduction == "mean":
        if target.dtype.is_floating_point:
            total = total / rows
        else:
            counted = target != ignore_index
            total = total / (counted.sum() if weight is None else weight.to(dtype)[target[counted]].sum())
    return total.to(input.dtype)


def linear_cross_entropy(
    input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0, options=None
):
    """cross_entropy of input [N, in_features] times linear_weight [C, ..., in_features]. options: a LinearCrossEntropyOptions, with which the
    logits are made in bands of rows."""
    arguments = (linear_bias, weight, -100 if ignore_index is None else ignore_index, reduction, label_smoothing)
    if options is not None:
        if input.dim() == 2 and linear_weight.dim() == 2 and target.dim() >= 1 and input.shape[0] > 0:
            return _in_bands(options, input, linear_weight, target, *arguments)
        warnings.warn("linear_cross_entropy: bands are of rows [N, in_features] and of classes [C, in_features]; the logits are made whole", stacklevel=2)
    return _whole(input, linear_weight, target, *arguments)
