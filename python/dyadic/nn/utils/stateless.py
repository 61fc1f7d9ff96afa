"""PyTorch's older place of functional_call."""
from ...func import functional_call  # noqa: F401
