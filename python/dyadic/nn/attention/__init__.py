"""Which kernel computes scaled_dot_product_attention: there is one, which these names leave as it is."""
import contextlib
import enum
from ..._ignored import ignored as _ignored


class SDPBackend(enum.Enum):
    """PyTorch's kernels, by name."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = -1, 0, 1, 2, 3, 4


@_ignored("backends", "set_priority", why="attention is computed in one way")
@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Accepts any choice."""
    yield
