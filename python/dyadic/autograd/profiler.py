"""PyTorch's older place of the profiler."""
import contextlib

from ..profiler import profile as _profile
from ..profiler import record_function  # noqa: F401
from ..profiler._events import Event as FunctionEvent, EventList  # noqa: F401
from .._ignored import ignored as _ignored


class profile(_profile):
    """profiler.profile, which records nothing unless it is enabled."""

    @_ignored("kwargs", why="calls, FLOPs and bytes are counted, whatever is chosen")
    def __init__(self, enabled=True, **kwargs):
        super().__init__()
        self._enabled = enabled

    def start(self):
        """Begins, if it is enabled."""
        if self._enabled:
            super().start()

    def table(self, **options):
        """key_averages().table()."""
        return self.key_averages().table(**options)


class emit_nvtx(contextlib.nullcontext):
    """Raises: there is no GPU."""

    def __init__(self, enabled=True, record_shapes=False):
        raise RuntimeError(f"profiler.emit_nvtx: there is no GPU: enabled is {enabled}, record_shapes {record_shapes}")


emit_itt = emit_nvtx
