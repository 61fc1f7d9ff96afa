"""Mixed precision: autocast and the gradient scaler of f16 training."""
from . import _dyadic
from ._dyadic import _Autocast, bfloat16, is_autocast_enabled
from .autograd import Scope

__all__ = ["GradScaler", "autocast", "is_autocast_enabled"]


class GradScaler(_dyadic.GradScaler):
    def __init__(self, device="cpu", init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, enabled)


GradScaler.__doc__ = _dyadic.GradScaler.__doc__


class autocast(Scope):
    """Inside, matrix products run in `dtype` and what needs the range (softmax, cross_entropy ...) in float32, as each op's
    record says. A context manager or a decorator.
    """

    def __init__(self, device_type="cpu", dtype=bfloat16, enabled=True):
        if device_type not in ("cpu", "meta"):
            raise ValueError(f'autocast: an unknown device: device_type is "{device_type}"; there are "cpu" and "meta"')
        self._arguments = (device_type, dtype, enabled)
        self._scope = _Autocast(dtype, enabled)

    def _again(self):
        return autocast(*self._arguments)

    def __enter__(self):
        self._scope.enter()

    def __exit__(self, *exc):
        self._scope.exit()
