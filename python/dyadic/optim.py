"""Optimizers, schedules and gradient norms."""
from ._dyadic import AdamW, ParamGroup, WarmupCosine, clip_factor, grad_norm

__all__ = ["AdamW", "ParamGroup", "WarmupCosine", "clip_factor", "grad_norm"]
