"""Switches for GPUs, of which there are none. Attention is computed in one way, which no switch changes."""
import contextlib

from .._ignored import Switches, ignored as _ignored
from ._absent import is_available, is_built  # noqa: F401

matmul = Switches(
    "there is no GPU",
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=False,
    allow_bf16_reduced_precision_reduction=False,
    fp32_precision="ieee",
)
_WAY = "attention is computed in one way"


def _accepted(name):
    @_ignored("enabled", why=_WAY, of="backends.cuda.enable_*_sdp")
    def enable(enabled):
        """Accepted: attention is computed in one way."""

    enable.__name__ = name
    return enable


enable_cudnn_sdp, enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp = map(
    _accepted, ("enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp")
)


def flash_sdp_enabled():
    """False: there is no GPU."""
    return False


cudnn_sdp_enabled = mem_efficient_sdp_enabled = flash_sdp_enabled


def math_sdp_enabled():
    """True: it is the way there is."""
    return True


@_ignored("enable_flash", "enable_math", "enable_mem_efficient", "enable_cudnn", why=_WAY)
@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Accepted: attention is computed in one way."""
    yield {}
