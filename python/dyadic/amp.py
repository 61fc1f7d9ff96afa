"""Mixed precision: autocast and the gradient scaler of f16 training."""
from ._dyadic import GradScaler, _Autocast, bfloat16, is_autocast_enabled
from .autograd import Scope

__all__ = ["GradScaler", "autocast", "is_autocast_enabled"]


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
