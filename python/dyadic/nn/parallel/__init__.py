"""PyTorch's place of models on several devices and in several processes; here there is one of each."""
from .data_parallel import DataParallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
