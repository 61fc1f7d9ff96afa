"""A regression whose targets have outliers: divided by the largest, the others' gradients are flushed to zero in f16. A scaler
keeps them, as the report's flushed values show. By RMSE."""
import argparse

import dyadic as dy
from dyadic import nn, study
from dyadic.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))

    def forward(self, x):
        return self.layers(x)


def table(rows, seed):
    """A smooth function of 16 numbers; one target of a hundred is 300 times as large, and the largest is about one."""
    source = dy.Generator().manual_seed(seed)
    weights = dy.randn(16, 4, generator=dy.Generator().manual_seed(0))
    x = dy.randn(rows, 16, generator=source)
    y = (x @ weights).sin().sum(1, keepdim=True)
    outlier = dy.rand(rows, 1, generator=source) < 0.01
    return TensorDataset(x, dy.where(outlier, 300 * y, y) / 1200)


def loss(model, batch):
    x, y = batch
    return (model(x).float() - y).square().mean(1)  # in f32: squares below 6e-8 would be zero, with any scaler


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--out")
    args = options.parse_args()
    half = dict(parameters="f16", doc="weights, gradients and arithmetic in f16")
    result = study.study(
        Net,
        DataLoader(table(4000, 1), batch_size=64, shuffle=True),
        loss,
        evaluation=DataLoader(table(1000, 2), batch_size=250),
        metric=study.rmse,
        steps=args.steps,
        recipes=["bf16", "f16", study.Recipe(**half, name="pure-f16"), study.Recipe(**half, scaler=True, name="pure-f16-scaled")],
        name="outliers",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
