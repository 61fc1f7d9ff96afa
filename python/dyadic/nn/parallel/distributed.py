"""PyTorch's place of DistributedDataParallel."""
from ..._dyadic import Module


class DistributedDataParallel(Module):
    """For isinstance: no module is one. Training is in one process."""

    def __init__(self, module, *args, **kwargs):
        raise RuntimeError("DistributedDataParallel: training is in one process here; ask distributed.is_available() first")
