"""Averages of a model's weights: AveragedModel with an equal or an exponential average, update_bn, SWALR."""
import copy

from .._dyadic import Module, int64, lerp, tensor
from ..autograd import no_grad
from .lr_scheduler import SWALR
from .._ignored import ignored as _ignored

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay=0.999):
    """averaged = decay averaged + (1 - decay) parameter."""
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay is {decay}; it is between 0 and 1")

    def average(averaged, parameter, num_averaged):
        if averaged.dtype.is_floating_point or averaged.dtype.is_complex:
            return lerp(averaged, parameter, 1 - decay)
        return averaged * decay + parameter * (1 - decay)

    return average


def get_swa_avg_fn():
    """The mean of all that were seen."""
    return lambda averaged, parameter, num_averaged: averaged + (parameter - averaged) / (num_averaged + 1)


def _of_lists(average):
    def update(averaged, parameters, num_averaged):
        for kept, now in zip(averaged, parameters):
            kept.copy_(average(kept, now, num_averaged))

    return update


def get_ema_multi_avg_fn(decay=0.999):
    """get_ema_avg_fn for lists of tensors, in place."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """get_swa_avg_fn for lists of tensors, in place."""
    return _of_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """`module`, a copy of the model, holds running averages of its parameters: call it, evaluate it, save it. avg_fn(averaged, parameter,
    num_averaged) gives the next average, multi_avg_fn changes lists of tensors in place. With use_buffers buffers are averaged too, else
    they are the model's."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: avg_fn and multi_avg_fn are both given; only one of them is used")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model):
        """Takes the model's parameters into the averages; after optimizer.step(). The first call copies."""
        seen = int(self.n_averaged)
        average = self.multi_avg_fn or _of_lists(self.avg_fn or get_swa_avg_fn())
        pairs = list(zip(self.module.parameters(), model.parameters()))
        buffers = list(zip(self.module.buffers(), model.buffers()))
        if self.use_buffers:
            pairs += buffers
        pairs = [(kept.detach(), now.detach().to(kept.dtype)) for kept, now in pairs]
        for dtype in dict.fromkeys(kept.dtype for kept, _ in pairs):
            these = [p for p in pairs if p[0].dtype == dtype]
            if seen:
                average([kept for kept, _ in these], [now for _, now in these], self.n_averaged)
            else:
                for kept, now in these:
                    kept.copy_(now)
        if not self.use_buffers:
            for kept, now in buffers:
                kept.copy_(now)
        self.n_averaged.add_(1)


@no_grad()
@_ignored("device", why="there is one device")
def update_bn(loader, model, device=None):
    """Running means and variances of batch normalization anew, by one pass over the loader's batches."""
    layers = [m for m in model.modules() if getattr(m, "running_mean", None) is not None and hasattr(m, "momentum")]
    if not layers:
        return
    was_training, momenta = model.training, [m.momentum for m in layers]
    for m in layers:
        m.running_mean.zero_()
        m.running_var.fill_(1)
        m.num_batches_tracked.zero_()
        m.momentum = None  # the mean over all batches
    model.train()
    for batch in loader:
        model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for m, momentum in zip(layers, momenta):
        m.momentum = momentum
    model.train(was_training)
