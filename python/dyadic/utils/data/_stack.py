"""StackDataset: PyTorch's."""
from ..._dyadic._data import Dataset


class StackDataset(Dataset):
    """Several datasets side by side: sample i is the tuple, or by names the dict, of their samples i."""

    def __init__(self, *datasets, **named):
        super().__init__()
        if bool(datasets) == bool(named):
            raise ValueError("StackDataset: datasets by position or by name, not both, and at least one")
        self.datasets = datasets or named
        parts = list(named.values() or datasets)
        if any(len(d) != len(parts[0]) for d in parts):
            raise ValueError(f"StackDataset: the datasets differ in length: {[len(d) for d in parts]}")

    def __len__(self):
        parts = self.datasets
        return len(next(iter(parts.values())) if isinstance(parts, dict) else parts[0])

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)
