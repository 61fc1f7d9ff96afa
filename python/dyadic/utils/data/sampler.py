"""PyTorch's place of the samplers."""
from . import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

for _name in list(globals()):
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
