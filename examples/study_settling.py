"""Which precision for a model that decides how long it computes: a layer applied until its state settles, at most eight times,
with activations of one bit, whose gradient is a function of one's own."""
import argparse

import dyadic as dy
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader

from digits import load


class Sign(dy.autograd.Function):
    """+1 or -1; backward takes the slope of a line between -1 and 1 (straight-through estimator, Bengio et al. 2013)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return dy.where(x >= 0, dy.ones_like(x), -dy.ones_like(x))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype)


class Settling(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(64, 128)
        self.again = nn.Linear(128, 128)
        self.norm = nn.LayerNorm(128)
        self.output = nn.Linear(128, 10)

    def forward(self, images):
        seen = self.read(images.flatten(1))
        state = Sign.apply(seen)
        for _ in range(8):
            before = state
            state = Sign.apply(self.norm(seen + self.again(state)))
            if (state != before).float().mean().item() < 0.02:
                break
        return self.output(state)


def loss(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels, reduction="none")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--out")
    args = options.parse_args()
    train_set, test_set = load()
    result = study.study(
        Settling,
        DataLoader(train_set, batch_size=32, shuffle=True),
        loss,
        evaluation=DataLoader(test_set, batch_size=256),
        metric=study.accuracy,
        tolerance=0.03,  # what 360 images can tell
        steps=args.steps,
        optimizer_options={"lr": 3e-3},
        name="settling",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
