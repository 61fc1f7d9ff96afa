"""PyTorch's place of models on several devices and in several processes; here there is one of each."""
from .._dyadic import Module
from ._more import DataParallel  # noqa: F401

__all__ = ["DataParallel", "DistributedDataParallel"]


class DistributedDataParallel(Module):
    """For isinstance: no module is one. Training is in one process."""

    def __init__(self, module, *args, **kwargs):
        raise RuntimeError("DistributedDataParallel: training is in one process here; ask distributed.is_available() first")
