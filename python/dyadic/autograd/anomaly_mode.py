"""Finding where the first NaN arose."""
from .._dyadic import _Anomaly
from .grad_mode import Scope

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_always = _Anomaly()  # of set_detect_anomaly, outside of with statements
_entered = False


class detect_anomaly(Scope):
    """Inside of it backward() raises a RuntimeError at the first gradient that is NaN, which names the op and the module where
    the first NaN arose, forward or backward. Every result of this thread is looked at, which takes time."""

    def __init__(self, check_nan=True):
        self._check, self._scope = check_nan, _Anomaly()

    def __enter__(self):
        if self._check:
            self._scope.enter()

    def __exit__(self, *exc):
        if self._check:
            self._scope.exit()

    def _again(self):
        return detect_anomaly(self._check)


class set_detect_anomaly:
    """detect_anomaly on or off: from now on, or inside of a with statement."""

    def __init__(self, mode, check_nan=True):
        self._before = _entered
        _switch(mode and check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _switch(self._before)


def _switch(on):
    global _entered
    if on != _entered:
        (_always.enter if on else _always.exit)()
        _entered = on
