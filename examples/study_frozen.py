"""Fine-tuning with the frozen layers in nf4: a network that knows the digits 0 to 4 learns 5 to 9 by its last layer."""
import argparse

import dyadic as dy
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader, Subset

from digits import Net, load, train


def part(dataset, wanted):
    """Those of the dataset whose label is wanted, as labels 0 to 4."""
    kept = Subset(dataset, [i for i, (_, label) in enumerate(dataset) if label.item() in wanted])
    return [(image, label - min(wanted)) for image, label in kept]


def known(train_set):
    dy.manual_seed(0)
    model = Net()
    model.output = nn.Linear(512, 5)
    optimizer = dy.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(part(train_set, range(5)), batch_size=32, shuffle=True)
    schedule = dy.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5 * len(loader))
    for _ in range(5):
        train(model, loader, optimizer, schedule)
    return model.features.state_dict()


def loss(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels, reduction="none")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--out")
    args = options.parse_args()
    train_set, test_set = load()
    features = known(train_set)

    def make():
        model = Net()
        model.output = nn.Linear(512, 5)
        model.features.load_state_dict(features)
        model.features.requires_grad_(False)
        model.features.to(dy.nf4)
        return model

    result = study.study(
        make,
        DataLoader(part(train_set, range(5, 10)), batch_size=32, shuffle=True),
        loss,
        evaluation=DataLoader(part(test_set, range(5, 10)), batch_size=256),
        metric=study.accuracy,
        tolerance=0.03,  # what 360 images can tell
        steps=args.steps,
        formats=["bf16", "q8_0", dy.nf4],
        name="frozen",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
