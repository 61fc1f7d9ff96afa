"""PyTorch's place of Optimizer."""
from ._optimizer import Optimizer
