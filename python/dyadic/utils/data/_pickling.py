"""copy and pickle of datasets and samplers: what they were made of, and the attributes of classes that derive from them."""
from ..._dyadic import _data
from ..._dyadic._data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

_ARGUMENTS = {  # the nearest base comes first
    TensorDataset: lambda d: tuple(d.tensors),
    Subset: lambda d: (d.dataset, list(d.indices)),
    ConcatDataset: lambda d: (list(d.datasets),),
    ChainDataset: lambda d: (list(d.datasets),),
    RandomSampler: lambda s: (s.data_source, s.replacement, s._num_samples, s.generator),
    SequentialSampler: lambda s: (s.data_source,),
    BatchSampler: lambda s: (s.sampler, s.batch_size, s.drop_last),
    IterableDataset: lambda d: (),
    Dataset: lambda d: (),
    Sampler: lambda s: (),
}
_CPP = frozenset(value for value in vars(_data).values() if isinstance(value, type))


def _make(cls, base, args):
    made = cls.__new__(cls)
    base.__init__(made, *args)
    return made


def _reduce(self, protocol):
    if type(self).__reduce__ is not object.__reduce__:
        return self.__reduce__()
    known = next(c for c in type(self).__mro__ if c in _CPP)
    if known not in _ARGUMENTS:
        raise TypeError(f"pickle: a {known.__name__} is not pickled (protocol {protocol}); make it again where it is needed")
    getstate = getattr(self, "__getstate__", None)
    state = getstate() if getstate else getattr(self, "__dict__", None)
    return _make, (type(self), known, _ARGUMENTS[known](self)), state or None


Dataset.__reduce_ex__ = Sampler.__reduce_ex__ = BatchSampler.__reduce_ex__ = _reduce
