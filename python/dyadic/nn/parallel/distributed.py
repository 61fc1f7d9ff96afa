"""PyTorch's place of DistributedDataParallel."""
from contextlib import contextmanager

from ... import _dyadic
from ..._ignored import ignored
from ..._dyadic import Module


class DistributedDataParallel(Module):
    """A module whose gradients become their mean over all ranks in backward(), each rank on a batch of its own.

    The sum is one fixed tree over the ranks: the same bits in every run on as many ranks. For the same bits on any number of ranks see
    distributed.DataParallel. Parameters that a backward() does not reach stay out on ranks where none reaches them.

    module              the model, at .module; every rank's parameters and buffers become rank 0's
    broadcast_buffers   buffers become rank 0's before each forward in training
    bucket_cap_mb       MiB of gradients that are sent together while backward computes the next ones; None: 4"""

    @ignored(
        "output_device", "dim", "process_group", "find_unused_parameters", "check_reduction", "gradient_as_bucket_view", "static_graph",
        why="gradients are added in buckets of their own memory, whichever parameters a backward() has reached",
    )
    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=True,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
    ):
        super().__init__()
        from ...distributed import is_initialized

        if not is_initialized():
            raise ValueError("DistributedDataParallel: there is no process group; call distributed.init_process_group() first")
        if device_ids:
            raise ValueError(f"DistributedDataParallel: device_ids is {device_ids}; there are no GPUs")
        self.module = module
        self.broadcast_buffers = broadcast_buffers
        if init_sync:
            _dyadic._distributed.begin_equal(module)
        if bucket_cap_mb is not None and not bucket_cap_mb > 0:
            raise ValueError(f"DistributedDataParallel: bucket_cap_mb is {bucket_cap_mb}; it is above 0")
        self._mean = _dyadic._distributed.GradientMean(
            [p for p in module.parameters() if p.requires_grad], round((4 if bucket_cap_mb is None else bucket_cap_mb) * 2**20)
        )

    def forward(self, *args, **kwargs):
        if self.broadcast_buffers and self.training and self._mean.on:
            for buffer in self.module.buffers():
                _dyadic._distributed.broadcast(buffer, 0)
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self):
        """Inside, gradients stay this rank's and add up."""
        before, self._mean.on = self._mean.on, False
        try:
            yield
        finally:
            self._mean.on = before
