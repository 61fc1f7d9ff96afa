"""PyTorch's place of the datasets."""
from . import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)

for _name in list(globals()):
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
