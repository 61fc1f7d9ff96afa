"""PyTorch's place of DataLoader and its collation."""
from ..._dyadic._data import _Epoch as _BaseDataLoaderIter

_SingleProcessDataLoaderIter = _MultiProcessingDataLoaderIter = _BaseDataLoaderIter  # there is one kind: workers are threads
from . import DataLoader, default_collate, default_convert

DataLoader.multiprocessing_context = None  # workers are threads
