"""PyTorch's place of the clipping of gradients."""
from . import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm  # noqa: F401
