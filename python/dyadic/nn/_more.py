"""Layers that are few lines over functions and layers of other names."""
from .._dyadic import Module
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


class SyncBatchNorm(bases["_BatchNorm"]):
    """For isinstance: statistics over several processes, of which there is one."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("SyncBatchNorm: training is in one process here: BatchNorm1d, 2d and 3d see the whole batch")

    @classmethod
    @_ignored("process_group", why="training is in one process")
    def convert_sync_batchnorm(cls, module, process_group=None):
        """module itself: in one process its batch normalization sees the whole batch. ValueError in one of several."""
        from ..distributed import is_available

        if is_available():
            raise ValueError("SyncBatchNorm: batch statistics over several processes are not here; GroupNorm and LayerNorm need none")
        return module


class DataParallel(Module):
    """module on the one device there is; its parameters have "module." before their names."""

    @_ignored("device_ids", "output_device", why="there is one device")
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.device_ids, self.dim = module, [], dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
