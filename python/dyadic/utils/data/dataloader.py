"""PyTorch's place of DataLoader and its collation."""
from ..._dyadic._data import _Epoch as _BaseDataLoaderIter
from . import DataLoader, default_collate, default_convert
