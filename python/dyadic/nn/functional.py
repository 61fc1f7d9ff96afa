"""The functions of networks under PyTorch's names. Every op is here too: functional.relu is dyadic.relu."""
from .. import _dyadic
from ._layers import read_padding


def __getattr__(name):
    if name in _dyadic._op_names or name.removesuffix("_") in _dyadic._op_names and hasattr(_dyadic, name):  # relu, relu_
        return getattr(_dyadic, name)
    raise AttributeError(f"module 'dyadic.nn.functional' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(_dyadic._op_names))


# Below: those whose arguments PyTorch orders or names otherwise than the op.


def embedding(input, weight, padding_idx=None):
    """Rows of weight [num_embeddings, embedding_dim] by the integers of input; the row padding_idx gets no gradient."""
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.size(0)
    return _dyadic.embedding(weight, input, -1 if padding_idx is None else padding_idx)


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
        return _dyadic.max_pool(input, *sizes, ceil_mode)

    max_pool.__name__, max_pool.__doc__ = f"max_pool{n}d", op.__doc__
    return max_pool


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


def _adaptive(kind, n):
    op = getattr(_dyadic, f"adaptive_{kind}_pool{n}d")

    def pool(input, output_size, return_indices=False):
        size = [s if s is not None else input.size(i - n) for i, s in enumerate(_spread(output_size, n))]
        return _dyadic.adaptive_max_pool(input, size) if return_indices else op(input, size)

    pool.__name__, pool.__doc__ = f"adaptive_{kind}_pool{n}d", op.__doc__
    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", n) for n in (1, 2, 3))


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The patches of images [N, C, H, W] as columns: [N, C kernel_size, positions]."""
    return _dyadic.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns [N, C kernel_size, positions] added where unfold takes them from."""
    return _dyadic.col2im(input, output_size, kernel_size, dilation, padding, stride)



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


def pdist(input, p=2.0):
    """The distances between all pairs of rows, those above the diagonal of cdist(input, input)."""
    n = input.size(0)
    row, column = _dyadic.triu_indices(n, n, 1).unbind(0)
    return _dyadic.pairwise_distance(input[row], input[column], p, 0.0)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate, under its older name."""
    return _dyadic.interpolate(input, size, scale_factor, mode, align_corners)
