"""Scaling of the loss in f16 training."""
import functools
import weakref

from .. import _dyadic
from .._dyadic import Tensor, _is_written_down, _run_part
from .._ignored import ignored as _ignored


def _named(optimizer):
    """(name, parameter) of all groups; the names of optimizers that know some."""
    pairs = []
    for group in optimizer.param_groups:
        names = group.get("param_names") or range(len(pairs), len(pairs) + len(group["params"]))
        pairs += zip(map(str, names), group["params"])
    return pairs


def _part(method):
    """method(scaler, optimizer): where a compiled step is written down, a part that runs as it is and finds out anew what to do."""

    @functools.wraps(method)
    def run(self, optimizer, *args, **kwargs):
        own = isinstance(getattr(optimizer, "_part", None), _dyadic._Optimizer)
        if not _is_written_down() or not own or args or kwargs:
            return method(self, optimizer, *args, **kwargs)
        scaler, other = weakref.ref(self), weakref.ref(optimizer)
        return _run_part(method.__name__, lambda: method(scaler(), other()), self, optimizer)

    return run


class GradScaler(_dyadic.GradScaler):
    """Dynamic loss scaling for f16: gradients are kept in range by multiplying the loss; a step whose gradients are infinite or NaN
    is skipped and lowers the scale. max_skips skipped steps in a row are an error that names the first parameter whose gradient
    is not finite. Works with any object that has param_groups and step().
    """

    @_ignored("device", why="losses are scaled on any device")
    def __init__(
        self, device="cpu", init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True, max_skips=100
    ):
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, enabled, max_skips)
        self._max_skips = max_skips

    def __getstate__(self):
        return {**self.__dict__, "_native": self.state_dict()}

    def __setstate__(self, state):
        state = dict(state)
        native = state.pop("_native")
        GradScaler.__init__(self, enabled=bool(native), max_skips=state["_max_skips"])
        self.__dict__.update(state)
        self.load_state_dict(native)

    def scale(self, outputs):
        """A Tensor, or lists and tuples of them, times the scale."""
        if not self.is_enabled():
            return outputs
        if isinstance(outputs, Tensor):
            return self._scale(outputs)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError(f"GradScaler: scale() takes a Tensor or a list of them, not {type(outputs).__name__}")

    @_part
    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the scale; once between two updates."""
        if self.is_enabled():
            self._unscale(id(optimizer), _named(optimizer))

    @_part
    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(*args, **kwargs) and what it returns, unless a gradient is infinite or NaN. Unscales if that has not been done."""
        if not self.is_enabled():
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            raise RuntimeError("GradScaler: step() takes no closure: a step that computes gradients anew would use them scaled")
        return optimizer.step(*args, **kwargs) if self._may_step(id(optimizer), _named(optimizer)) else None

    def update(self, new_scale=None):
        """Lowers the scale after a skipped step, raises it after growth_interval others; or takes a new one."""
        if new_scale is None:
            self._update()
        else:
            self._update(float(new_scale))

    def get_growth_factor(self):
        """What the scale is multiplied by after growth_interval good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """What the scale is multiplied by after growth_interval good steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """What the scale is multiplied by after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many good steps in a row raise the scale."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """How many good steps in a row raise the scale."""
        self._growth_interval = new_interval

    def state_dict(self):
        """PyTorch's five entries, and how many steps were skipped: in all, and the last in a row."""
        if not self.is_enabled():
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
            "skipped": self.skipped,
            "skipped_in_a_row": self._skipped_in_a_row,
        }

    def load_state_dict(self, state_dict):
        """Goes on from a state_dict(), PyTorch's too."""
        if not self.is_enabled():
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._load(state_dict["scale"], state_dict["_growth_tracker"], state_dict.get("skipped", 0), state_dict.get("skipped_in_a_row", 0))
