"""Gradient accumulation: four batches of 64 give the gradient of one of 256, to rounding, and so the same training. An epoch ends with\nless: 158 images, in one batch or in three."""
import dyadic as dy
from digits import load
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.train import windows
from dyadic.utils.data import DataLoader


def make():
    dy.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10))
    return model, dy.optim.AdamW(model.parameters(), lr=1e-3)


def train(batch_size, accumulate, epochs=20):
    """The gradients of the first step, the last loss, the model."""
    model, optimizer = make()
    generator = dy.Generator().manual_seed(1)  # the same order, whatever the batch size
    train_set, _ = load()
    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, generator=generator)
    first = None
    for _ in range(epochs):
        for window in windows(loader, accumulate):  # an epoch's last one has the batches that are left
            total = 0.0
            for weight, (images, labels) in window:
                loss = F.cross_entropy(model(images), labels) * weight
                loss.backward()
                total += loss.item()
            first = first or [p.grad.clone() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
    return first, total, model


large, large_loss, one = train(256, 1)
small, small_loss, other = train(64, 4)
scale = max(g.abs().max().item() for g in large)
error = max((a - b).abs().max().item() for a, b in zip(large, small)) / scale
print(f"first gradient: largest difference {error:.1e} of its largest element")
drift = max((a - b).abs().max().item() for a, b in zip(one.parameters(), other.parameters()))
print(f"after 20 epochs: losses {large_loss:.6f} and {small_loss:.6f}, largest difference of a weight {drift:.1e}")
