"""Which precision for a network of one's own: the digits' convolutional network, judged by its accuracy."""
import argparse

from dyadic import study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader

from digits import Net, load


def loss(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels, reduction="none")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--out")
    args = options.parse_args()
    train_set, test_set = load()
    result = study.study(
        Net,
        DataLoader(train_set, batch_size=32, shuffle=True),
        loss,
        evaluation=DataLoader(test_set, batch_size=256),
        metric=study.accuracy,
        tolerance=0.03,  # what 360 images can tell
        steps=args.steps,
        optimizer_options={"lr": 3e-3},
        per_layer=True,
        name="digits",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
