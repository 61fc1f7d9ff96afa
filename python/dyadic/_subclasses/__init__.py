"""PyTorch's place of tensors without memory, which here are on the device meta."""
from .._absent import names_of

__getattr__ = names_of(__name__)
