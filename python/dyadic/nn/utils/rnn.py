"""Sequences of different lengths: padded, or packed without padding, as recurrent layers take them."""
from collections import namedtuple

from ... import _dyadic
from ..._dyadic import Tensor, cat, int64, tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """Sequences sorted by falling length, time step by time step: data holds the elements, batch_sizes how many sequences each
    step has. Made by pack_padded_sequence and pack_sequence."""

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """With the data moved or converted as Tensor.to does."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def float(self):
        """With the data in float32."""
        return self._replace(data=self.data.float())

    def double(self):
        """With the data in float64."""
        return self._replace(data=self.data.double())

    @property
    def is_cuda(self):
        """False: there is no GPU."""
        return False


def invert_permutation(permutation):
    """The permutation that undoes one; None stays None."""
    return None if permutation is None else permutation.argsort()


def _lengths(lengths):
    return lengths.to(int64) if isinstance(lengths, Tensor) else tensor(list(lengths), dtype=int64)


def _steps(n):
    return _dyadic.arange(0, n, dtype=int64)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Of input [T, N, ...] (batch_first: [N, T, ...]) the first lengths[n] steps of each sequence. enforce_sorted=False sorts them."""
    lengths = _lengths(lengths)
    x = input.transpose(0, 1) if batch_first else input
    if lengths.dim() != 1 or len(lengths) != x.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={x.shape[1]})")
    order = None
    if not enforce_sorted:
        order = lengths.argsort(descending=True, stable=True)
        lengths, x = lengths[order], x.index_select(1, order)
    sizes = lengths.tolist()
    if min(sizes) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need "
            "ONNX exportability."
        )
    if sizes[0] > x.shape[0]:
        raise RuntimeError(f"Expected the longest of `lengths` to be at most {x.shape[0]}, the number of steps, but got {sizes[0]}")
    real = _steps(sizes[0]).view(-1, 1) < lengths
    data = x[: sizes[0]].flatten(0, 1)[real.flatten()]
    return PackedSequence(data, real.sum(1), order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The sequences behind each other in time, [T, N, ...] with padding_value behind their ends, and their lengths."""
    sizes = sequence.batch_sizes
    steps, count = len(sizes), int(sizes[0].item())
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    column = _steps(count)
    lengths = (sizes.view(-1, 1) > column).sum(0)
    if total_length is not None:
        sizes = cat([sizes, sizes.new_zeros(total_length - steps)])
    starts = (sizes.cumsum(0) - sizes).view(-1, 1)
    padding = len(sequence.data)
    index = _dyadic.where(column < sizes.view(-1, 1), starts + column, _dyadic.full_like(starts + column, padding))
    if sequence.unsorted_indices is not None:
        index = index.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    rows = cat([sequence.data, _dyadic.full_like(sequence.data[:1].detach(), padding_value)])
    padded = rows[index]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors [T_n, ...] as one [T, N, ...] (batch_first: [N, T, ...])."""
    sequences = list(sequences)
    longest = max(len(s) for s in sequences)

    def padded(s):
        missing = _dyadic.full([longest - len(s), *s.shape[1:]], padding_value, dtype=s.dtype)
        return cat([s, missing] if padding_side == "right" else [missing, s])

    return _dyadic.stack([padded(s) for s in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The first lengths[n] steps of each sequence as a list."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[n, :length] for n, length in enumerate(_lengths(lengths).tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Tensors [T_n, ...], packed."""
    sequences = list(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence as a list."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
