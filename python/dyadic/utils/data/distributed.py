"""PyTorch's place of DistributedSampler."""
from . import DistributedSampler

for _name in list(globals()):
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
