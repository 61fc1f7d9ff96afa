"""Which precision for a recurrent network: an LSTM that reads the digits row by row, judged by its accuracy."""
import argparse

from dyadic import study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader

from digits import load
from lstm import Reader


def loss(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels, reduction="none")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--out")
    args = options.parse_args()
    train_set, test_set = load()
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    for row in study.predict(Reader, next(iter(loader)), loss):
        print(f"{row['recipe']:<14} {row['peak'] / 2**20:6.2f} MiB predicted, {row['flops_per_step'] / 1e6:.0f} MFLOP a step")
    result = study.study(
        Reader,
        loader,
        loss,
        evaluation=DataLoader(test_set, batch_size=256),
        metric=study.accuracy,
        tolerance=0.03,  # what 360 images can tell
        steps=args.steps,
        optimizer_options={"lr": 5e-3},
        name="lstm",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
