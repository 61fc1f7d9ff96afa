"""What the tests of dyadic.utils.data load."""
import dyadic as dy
from dyadic.utils.data import Dataset, IterableDataset, Sampler


class Squares(Dataset):
    """No super().__init__(), as most people write it."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return dy.tensor([float(i), float(i * i)]), i


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


class EveryOther(Sampler):
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        return iter(range(0, len(self.source), 2))

    def __len__(self):
        return (len(self.source) + 1) // 2
