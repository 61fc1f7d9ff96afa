"""Layers that are few lines over functions and layers of other names."""
from .. import _dyadic
from .._dyadic import Module
from ..autograd import Function, no_grad
from . import functional as F
from ._layers import bases, classes
from .._ignored import ignored as _ignored

__all__ = ["CrossMapLRN2d", "DataParallel", "FractionalMaxPool2d", "FractionalMaxPool3d", "NLLLoss2d", "SyncBatchNorm"]


class _FractionalMaxPool(Module):
    _rank: int

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__}: one of output_size and output_ratio is needed")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):
        pool = getattr(F, f"fractional_max_pool{self._rank}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows at random steps of images [N, C, H, W]: functional.fractional_max_pool2d."""

    _rank = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows at random steps of volumes [N, C, D, H, W]: functional.fractional_max_pool3d."""

    _rank = 3


class CrossMapLRN2d(classes["LocalResponseNorm"]):
    """LocalResponseNorm under its older name."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)


class NLLLoss2d(classes["NLLLoss"]):
    """NLLLoss, which takes images, under its older name."""


class _SumOverRanks(Function):
    """What all ranks have, added; its gradient is what all ranks' has."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        _dyadic._distributed.all_reduce(x, "sum")
        return x

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        _dyadic._distributed.all_reduce(g, "sum")
        return g


def _in_shard():
    from ..distributed import _parallel

    return _parallel.in_shard


class SyncBatchNorm(classes["BatchNorm1d"]):
    """Batch normalization of [N, C, ...] whose statistics in training are those of all ranks' batches together, which may differ in size.
    Every rank calls it, and its backward. One process alone sees the whole batch: it is BatchNorm1d, 2d or 3d then.

    Over shards (distributed.DataParallel) it is BatchNorm1d, 2d or 3d of its shard: the same bits on any number of ranks.

    The mean comes first, then squares about it, in float32 for inputs of fewer bits: two sums over ranks forward, two backward."""

    @_ignored("process_group", why="there is one group, of all processes")
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)

    def forward(self, input):
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input (got {input.dim()}D input)")
        own = self.training or self.running_mean is None
        count = self.num_batches_tracked
        if self.training and count is not None:
            count.add_(1)
        momentum = self.momentum if self.momentum is not None else 1.0 / float(count)
        if not own or _dyadic._distributed.size() == 1 or _in_shard():
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, own, momentum, self.eps)
        dims, shape = [0, *range(2, input.dim())], [1, -1] + [1] * (input.dim() - 2)
        x = input.float() if input.dtype.itemsize < 4 else input
        here = x.new_full((1,), input.numel() / max(input.size(1), 1))
        total = _SumOverRanks.apply(_dyadic.cat([x.sum(dims), here]))
        n = total[-1].detach()
        mean = total[:-1] / n
        centered = x - mean.view(shape)
        var = _SumOverRanks.apply(centered.square().sum(dims)) / n
        if self.training and self.running_mean is not None:
            with no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
                self.running_var.lerp_((var * n / (n - 1)).to(self.running_var.dtype), momentum)
        y = centered * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            y = y * self.weight.view(shape) + self.bias.view(shape)
        return y.to(input.dtype)

    @classmethod
    @_ignored("process_group", why="there is one group, of all processes")
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a SyncBatchNorm in the place of every BatchNorm inside of it, with its parameters and statistics; module itself
        where a process is alone: its batch normalization sees the whole batch."""
        if _dyadic._distributed.launched() == 1:
            return module
        if isinstance(module, bases["_BatchNorm"]) and not isinstance(module, cls):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            if module.track_running_stats:
                made.running_mean, made.running_var, made.num_batches_tracked = module.running_mean, module.running_var, module.num_batches_tracked
            return made.train(module.training)
        for name, child in list(module.named_children()):
            setattr(module, name, cls.convert_sync_batchnorm(child))
        return module


class DataParallel(Module):
    """module on the one device there is; its parameters have "module." before their names."""

    @_ignored("device_ids", "output_device", why="there is one device")
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.device_ids, self.dim = module, [], dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
