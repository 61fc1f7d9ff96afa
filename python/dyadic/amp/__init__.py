"""Mixed precision: autocast and the gradient scaler of f16 training."""
from .._dyadic import DelayedScaling
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler
from .switches import *  # noqa: F401,F403
from .switches import __all__ as _switches

__all__ = ["DelayedScaling", "GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available", *_switches]
