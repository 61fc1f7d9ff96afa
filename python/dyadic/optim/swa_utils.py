"""Averages of a model's parameters: AveragedModel with an equal or an exponential average, update_bn, SWALR."""
from .._dyadic import lerp
from ..autograd import no_grad
from .lr_scheduler import SWALR

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_swa_avg_fn", "update_bn"]


def get_ema_avg_fn(decay=0.999):
    """averaged = decay averaged + (1 - decay) parameter."""
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay is {decay}; it is between 0 and 1")
    return lambda averaged, parameter, num_averaged: lerp(averaged, parameter, 1 - decay)


def get_swa_avg_fn():
    """The mean of all that were seen."""
    return lambda averaged, parameter, num_averaged: averaged + (parameter - averaged) / (num_averaged + 1)


class AveragedModel:
    """Running averages of a model's parameters, by name. `averages()` has them; inside `with averaged:` the model itself has them,
    for evaluation, and its own parameters again afterwards. With use_buffers buffers are averaged too, else they are the model's.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        if multi_avg_fn is not None:
            raise ValueError("AveragedModel: multi_avg_fn is not taken; avg_fn sees one tensor at a time")
        self.module, self.n_averaged = model, 0
        self._average = avg_fn or get_swa_avg_fn()
        self._use_buffers = use_buffers
        self._kept = {name: t.detach().clone() for name, t in self._tensors().items()}
        self._own = None

    def _tensors(self):
        found = dict(self.module.named_parameters())
        if self._use_buffers:
            found.update((n, b) for n, b in self.module.named_buffers() if b.dtype.is_floating_point)
        return found

    def averages(self):
        return dict(self._kept)

    @no_grad()
    def update_parameters(self, model=None):
        """Takes the model's parameters into the averages; after optimizer.step()."""
        if self._own is not None:
            raise RuntimeError("AveragedModel: the model has the averages; update_parameters() comes outside of `with`")
        source = self._tensors() if model is None or model is self.module else dict(model.named_parameters())
        for name, kept in self._kept.items():
            now = source[name].detach()
            kept.copy_(now if self.n_averaged == 0 else self._average(kept, now.to(kept.dtype), self.n_averaged))
        self.n_averaged += 1

    @no_grad()
    def __enter__(self):
        tensors = self._tensors()
        self._own = {name: t.detach().clone() for name, t in tensors.items()}
        for name, t in tensors.items():
            t.detach().copy_(self._kept[name])
        return self.module

    @no_grad()
    def __exit__(self, *exc):
        for name, t in self._tensors().items():
            t.detach().copy_(self._own[name])
        self._own = None

    def __call__(self, *args, **kwargs):
        with self:
            return self.module(*args, **kwargs)

    def state_dict(self):
        return {"n_averaged": self.n_averaged, "averages": self.averages()}

    @no_grad()
    def load_state_dict(self, state):
        if set(state["averages"]) != set(self._kept):
            raise RuntimeError("AveragedModel: the saved averages are of another model")
        for name, t in state["averages"].items():
            self._kept[name].copy_(t)
        self.n_averaged = state["n_averaged"]


@no_grad()
def update_bn(loader, model, device=None):
    """Running means and variances of batch normalization anew, by one pass over the loader's batches."""
    layers = [m for _, m in model.named_modules() if getattr(m, "running_mean", None) is not None and hasattr(m, "momentum")]
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
