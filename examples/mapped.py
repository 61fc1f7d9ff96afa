"""Linear regression on data that does not fit: a mapped file of 64 MiB, trained on with at most 8 MiB of tensors."""
import sys
import tempfile
from pathlib import Path

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader, Dataset

ROWS, FEATURES = 1 << 20, 15  # and the target: 16 numbers a row
TRUTH = dy.linspace(-1, 1, FEATURES)


def write(path, piece=1 << 13):
    """Rows (x, x . TRUTH + 0.5 + noise), piece by piece."""
    with open(path, "wb") as file:
        for _ in range(ROWS // piece):
            x = dy.randn(piece, FEATURES)
            y = x @ TRUTH + 0.5 + 0.1 * dy.randn(piece)
            file.write(dy.cat([x, y[:, None]], 1).numpy().tobytes())


class Rows(Dataset):
    """Sample i is a run of rows: as few calls as there are batches."""

    def __init__(self, path, run):
        self.table = dy.memmap(path, dy.float32, [ROWS, FEATURES + 1])
        self.run = run

    def __len__(self):
        return ROWS // self.run

    def __getitem__(self, i):
        rows = self.table[i * self.run : (i + 1) * self.run]
        return rows[:, :FEATURES].clone(), rows[:, FEATURES].clone()


def main(folder):
    dy.manual_seed(0)
    dy.set_memory_limit(8 << 20)
    path = Path(folder) / "rows.f32"
    write(path)
    loader = DataLoader(Rows(path, run=1024), batch_size=None, shuffle=True, num_workers=2)
    model = nn.Linear(FEATURES, 1)
    optimizer = dy.optim.SGD(model.parameters(), lr=0.1)
    schedule = dy.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(loader))
    for x, y in loader:
        loss = F.mse_loss(model(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    error = (model.weight[0] - TRUTH).abs().max().item()
    print(f"file {path.stat().st_size >> 20} MiB, most tensors at once {dy.max_memory_allocated() / 2**20:.1f} MiB")
    print(f"largest error of a weight {error:.4f}, bias {model.bias.item():.4f} (0.5), last loss {loss.item():.4f} (0.0100)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else folder)
