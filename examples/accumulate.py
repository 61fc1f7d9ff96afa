"""Gradient accumulation: four batches of 64 give the gradient of one of 256, to rounding, and so the same training."""
import dyadic as dy
from digits import load
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader


def make():
    dy.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10))
    return model, dy.optim.AdamW(model.parameters(), lr=1e-3)


def train(batch_size, accumulate, steps=100):
    """The gradients of the first step, the last loss, the model."""
    model, optimizer = make()
    train_set, _ = load()
    generator = dy.Generator().manual_seed(1)  # the same order, whatever the batch size
    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True, generator=generator)
    usable = len(train_set) // 256 * 256 // batch_size  # batches that make whole steps
    step, first, total = 0, None, 0.0
    while step < steps:
        for i, (images, labels) in enumerate(loader):
            if i == usable or step == steps:
                break
            loss = F.cross_entropy(model(images), labels) / accumulate
            loss.backward()
            total += loss.item()
            if (i + 1) % accumulate:
                continue
            first = first or [p.grad.clone() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
            step, last, total = step + 1, total, 0.0
    return first, last, model


large, large_loss, one = train(256, 1)
small, small_loss, other = train(64, 4)
scale = max(g.abs().max().item() for g in large)
error = max((a - b).abs().max().item() for a, b in zip(large, small)) / scale
print(f"first gradient: largest difference {error:.1e} of its largest element")
drift = max((a - b).abs().max().item() for a, b in zip(one.parameters(), other.parameters()))
print(f"after 100 steps: losses {large_loss:.6f} and {small_loss:.6f}, largest difference of a weight {drift:.1e}")
