"""Datasets, samplers and the DataLoader, by PyTorch's names. The classes are those of the C++ library.

Workers are threads: a dataset's __getitem__ written in Python runs with the GIL, whatever it calls in Dyadic without. Random
numbers that a dataset or collate_fn draws from Dyadic belong to their batch, so that they do not depend on num_workers; those of
`random` and numpy are shared by all threads and do. An IterableDataset is read in order by one worker at a time: it needs no
sharding, and get_worker_info() tells it of one worker.
"""
from ..._dyadic import Generator
from ..._dyadic._data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    ImageFolder,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    TextLines,
    TokenDataset,
    WeightedRandomSampler,
    decode_image,
    default_collate,
    default_convert,
    get_worker_info,
    load_npy,
    load_npz,
    random_split,
    read_csv,
    read_idx,
    read_image,
    read_text,
    save_npy,
    save_npz,
    write_png,
)
from ._stack import StackDataset
from . import _pickling, _utils, dataloader, dataset, distributed, sampler, transforms  # noqa: E402  of the names above
