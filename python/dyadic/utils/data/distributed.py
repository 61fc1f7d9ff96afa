"""PyTorch's place of DistributedSampler."""
from . import DistributedSampler
