"""PyTorch's place of what its translator tries out."""
from ..._absent import names_of

__getattr__ = names_of(__name__)
