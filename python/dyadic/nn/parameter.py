"""PyTorch's place of Parameter."""
from .._dyadic import Parameter
