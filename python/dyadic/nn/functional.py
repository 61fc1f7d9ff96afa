"""The functions of networks under PyTorch's names. Every op is here too: functional.relu is dyadic.relu."""
import functools
import inspect
import warnings

from .. import _dyadic
from .._more_functions import pdist  # noqa: F401
from . import _reduction
from ._attention import _in_projection, _in_projection_packed, multi_head_attention_forward  # noqa: F401
from ._grouped import grouped_mm  # noqa: F401
from ._layers import read_padding
from ._linear_cross_entropy import linear_cross_entropy  # noqa: F401
from .._ignored import ignored as _ignored
from .._records import op_signature

_OPS = frozenset(_dyadic._op_names)


def __getattr__(name):
    if name in _OPS or name.removesuffix("_") in _OPS and hasattr(_dyadic, name):  # relu, relu_
        return getattr(_dyadic, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted(_OPS | set(globals()))


# Below: those whose arguments PyTorch orders or names otherwise than the op.


def implicit_dim(input, who):
    """What PyTorch takes where no dim is given."""
    warnings.warn(f"{who}: no dim is given: it becomes {int(input.dim() not in (0, 1, 3))} by the number of dimensions; pass dim", stacklevel=3)
    return 0 if input.dim() in (0, 1, 3) else 1


def _over_dim(name):
    op = getattr(_dyadic, name)

    def softmax(input, dim=None, _stacklevel=3, dtype=None):
        dim = implicit_dim(input, name) if dim is None else dim
        return op(input if dtype is None else input.to(dtype), dim)

    softmax.__name__, softmax.__doc__ = name, op.__doc__
    return softmax


softmax, log_softmax, softmin = _over_dim("softmax"), _over_dim("log_softmax"), _over_dim("softmin")


@_ignored("sparse", why="gradients are dense, with zeros for rows that were not used", warn=True)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of weight [num_embeddings, embedding_dim] by the integers of input; the row padding_idx gets no gradient. max_norm:
    the rows that are read are first scaled down to this norm, in weight itself. scale_grad_by_freq: a row's gradient is divided
    by how often it is read. Gradients are dense, whatever `sparse` says."""
    if max_norm is not None:
        _dyadic.embedding_renorm_(weight, input, max_norm, norm_type)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.size(0)
    return _dyadic.embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


@_ignored("sparse", why="gradients are dense, with zeros for rows that were not used", warn=True)
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The mean, sum or maximum of the rows of weight that each bag of input names: dyadic.embedding_bag, with what embedding has."""
    if max_norm is not None:
        _dyadic.embedding_renorm_(weight, input, max_norm, norm_type)
    return _dyadic.embedding_bag(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx, scale_grad_by_freq)


def _conv(n):
    op = getattr(_dyadic, f"conv{n}d")

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        padding = read_padding(padding, list(weight.shape[2:]), dilation, stride, n)
        return op(input, weight, bias, stride, padding, dilation, groups)

    conv.__name__, conv.__doc__ = f"conv{n}d", op.__doc__
    return conv


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)


def _spread(value, n):
    return list(value) * (n if len(value) == 1 else 1) if isinstance(value, (tuple, list)) else [value] * n


def _max_pool(n):
    op = getattr(_dyadic, f"max_pool{n}d")

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if not return_indices:
            return op(input, kernel_size, stride, padding, dilation, ceil_mode)
        sizes = [_spread(v, n) for v in (kernel_size, kernel_size if stride is None else stride, padding, dilation)]
        if input.is_floating_point():
            return _dyadic._parts.max_pool(input, *sizes, ceil_mode)
        values, places = _dyadic._parts.max_pool(input.double(), *sizes, ceil_mode)  # integers, compared as op does
        return values.to(input.dtype), places

    max_pool.__name__, max_pool.__doc__ = f"max_pool{n}d", op.__doc__
    return max_pool


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


def _with_indices(pool):
    def with_indices(input, *args, **options):
        return pool(input, *args, **(options | {"return_indices": True}))

    with_indices.__name__ = pool.__name__ + "_with_indices"
    with_indices.__doc__ = f"(values, indices): {pool.__name__} with return_indices."
    return with_indices


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_with_indices, (max_pool1d, max_pool2d, max_pool3d))


def _adaptive(kind, n):
    op = getattr(_dyadic, f"adaptive_{kind}_pool{n}d")

    def pool(input, output_size, return_indices=False):
        size = [s if s is not None else input.size(i - n) for i, s in enumerate(_spread(output_size, n))]
        return _dyadic._parts.adaptive_max_pool(input, size) if return_indices else op(input, size)

    pool.__name__, pool.__doc__ = f"adaptive_{kind}_pool{n}d", op.__doc__
    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", n) for n in (1, 2, 3))
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)


def _fractional(n):
    op = f"fractional_max_pool{n}d_with_indices"

    @_ignored("return_indices", why="it gives the indices anyway", of="nn.functional.fractional_max_pool2d_with_indices")
    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"fractional_max_pool{n}d: one of output_size and output_ratio is needed")
        if output_size is None:
            ratio = _spread(output_ratio, n)
            if not all(0 < r < 1 for r in ratio):
                raise ValueError(f"fractional_max_pool{n}d: output_ratio is between 0 and 1: it is {output_ratio}")
            output_size = [int(input.size(i - n) * r) for i, r in enumerate(ratio)]
        return getattr(_dyadic, op)(input, _spread(kernel_size, n), _spread(output_size, n), _random_samples)

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        both = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return tuple(both) if return_indices else both[0]

    with_indices.__name__, pool.__name__ = op, op.removesuffix("_with_indices")
    with_indices.__doc__ = getattr(_dyadic, op).__doc__ + "\n\noutput_ratio: the sizes as parts of the input's."
    pool.__doc__ = with_indices.__doc__ + " return_indices: the indices too."
    return pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The patches of images [N, C, H, W] as columns: [N, C kernel_size, positions]."""
    return _dyadic.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns [N, C kernel_size, positions] added where unfold takes them from."""
    return _dyadic.col2im(input, output_size, kernel_size, dilation, padding, stride)


@_ignored("eps", why="the noise needs none", warn=True)
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + Gumbel noise) / tau): a soft choice among dim; hard: one-hot, with the soft one's gradient."""
    soft = _dyadic.softmax((logits - _dyadic.empty_like(logits.detach()).exponential_().log()) / tau, dim)
    if not hard:
        return soft
    one = _dyadic.zeros_like(logits.detach()).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return one - soft.detach() + soft


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    lengths = (n if isinstance(n, _dyadic.Tensor) else _dyadic.tensor(n) for n in (input_lengths, target_lengths))
    return _dyadic.ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)


ctc_loss.__doc__ = _dyadic.ctc_loss.__doc__


_MAPS = {"nearest": 0, "nearest-exact": 1, "linear": 2, "bilinear": 2, "trilinear": 2, "bicubic": 3, "area": 5}  # of resample


def _by_axes(input, factors, mode, align_corners, antialias):
    """interpolate by a factor for each dimension: one dimension after the other."""
    _dyadic.interpolate(_dyadic.empty(input.shape, device="meta"), None, 1.0, mode, align_corners, antialias=antialias)  # its rules
    resized = input if input.dtype in (_dyadic.float32, _dyadic.float64) else input.float()
    for d, factor in enumerate(factors, 2):
        size = int(resized.size(d) * factor)
        resized = _dyadic._parts.resample(resized, d, size, [_MAPS[mode] + 4 * antialias, int(bool(align_corners))], 1 / factor)
    return resized.to(input.dtype)


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    if input.dtype == _dyadic.uint8:
        resized = interpolate(input.float(), size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
        return resized.round().clamp(0, 255).to(input.dtype)
    rank = input.dim() - 2
    if rank < 1:
        raise NotImplementedError(f"interpolate: input is [N, C, ...] with at least three dimensions: it has {input.dim()}")
    factors = None if scale_factor is None else _spread(scale_factor, rank)
    if factors and recompute_scale_factor:
        size, factors = [int(n * f) for n, f in zip(input.shape[2:], factors)], None
    size = None if size is None else _spread(size, rank)
    if factors and len(set(factors)) > 1:
        return _by_axes(input, factors, mode, align_corners, antialias)
    factor = None if factors is None else float(factors[0])
    return _dyadic.interpolate(input, size, factor, mode, align_corners, antialias=antialias)


interpolate.__doc__ = (
    _dyadic.interpolate.__doc__
    + "\n\nscale_factor may be several numbers, one for each dimension; recompute_scale_factor: positions are those of the resulting sizes. "
    "Results of uint8 images are rounded."
)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate, under its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate, mode "nearest"."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate, mode "bilinear" with align_corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa and key.size(-3) != query.size(-3):
        groups = query.size(-3) // max(key.size(-3), 1)
        if groups * key.size(-3) != query.size(-3):
            raise RuntimeError(
                "scaled_dot_product_attention: the heads of keys do not divide those of queries: query is "
                f"{list(query.shape)}, key is {list(key.shape)}"
            )
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    return _dyadic.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


scaled_dot_product_attention.__doc__ = (
    _dyadic.scaled_dot_product_attention.__doc__ + "\n\nenable_gqa: each head of keys and values serves several of queries."
)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for a distance of one's own (pairwise_distance if absent);
    swap: of the negative's distances from anchor and positive the smaller one counts."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"triplet_margin_with_distance_loss: unknown reduction {reduction!r}; it is 'none', 'mean' or 'sum'")
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin is {margin}; it is greater than 0")
    distance = distance_function or _dyadic.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _dyadic.minimum(far, distance(positive, negative))
    loss = _dyadic.clamp_min(near - far + margin, 0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _with_inplace(name):
    op, in_place = getattr(_dyadic, name), getattr(_dyadic, name + "_", None)
    parameters = list(op_signature(op).parameters.values())
    named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    def function(input, *args, inplace=False, **options):
        if len(args) == len(named):
            *args, inplace = args
        if inplace and in_place:
            return in_place(input, *args, **options)
        if inplace:  # what backward reads of input is not overwritten
            return input.copy_(op(input.clone() if input.requires_grad else input, *args, **options))
        return op(input, *args, **options)

    function.__name__, function.__doc__ = name, op.__doc__ + "\n\ninplace: the result is written into input."
    last = inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)
    function.__signature__ = inspect.Signature([named[0].replace(name="input"), *named[1:], last, *parameters[len(named) :]])
    return function


relu, relu6, selu, elu, celu = map(_with_inplace, ("relu", "relu6", "selu", "elu", "celu"))
silu, mish, hardswish, hardsigmoid, hardtanh = map(_with_inplace, ("silu", "mish", "hardswish", "hardsigmoid", "hardtanh"))
leaky_relu, threshold, rrelu = map(_with_inplace, ("leaky_relu", "threshold", "rrelu"))
dropout, dropout1d, dropout2d, dropout3d = map(_with_inplace, ("dropout", "dropout1d", "dropout2d", "dropout3d"))
alpha_dropout, feature_alpha_dropout = map(_with_inplace, ("alpha_dropout", "feature_alpha_dropout"))

for _name in ("leaky_relu", "rrelu", "threshold"):
    if not hasattr(_dyadic, _name + "_"):
        globals()[_name + "_"] = functools.partial(globals()[_name], inplace=True)


def _with_older(name):
    op = getattr(_dyadic, name)
    own = list(op_signature(op).parameters.values())
    named = _reduction.with_older(name, own)
    if named is own:
        return op
    signature = inspect.Signature(named)
    younger = [p.name for p in named].index("size_average")  # as many by position as both forms have at the same places

    def loss(*args, **kwargs):
        if len(args) <= younger and "size_average" not in kwargs and "reduce" not in kwargs:
            return op(*args, **kwargs)
        return op(**_reduction.read(dict(signature.bind(*args, **kwargs).arguments)))

    loss.__name__, loss.__doc__, loss.__signature__ = name, op.__doc__, signature
    return loss


for _name in _dyadic._op_names:
    if _name not in globals() and hasattr(_dyadic, _name) and "reduction=" in (getattr(_dyadic, _name).__doc__ or ""):
        globals()[_name] = _with_older(_name)
