"""Which precision for a small vision transformer: the digits cut into 16 patches, judged by its accuracy."""
import argparse

import dyadic as torch
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader

from digits import load


class Transformer(nn.Module):
    def __init__(self, width=64, layers=3):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, stride=2)
        self.places = nn.Parameter(torch.randn(1, 16, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.output = nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.places
        return self.output(self.encoder(x).mean(1))


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
        Transformer,
        DataLoader(train_set, batch_size=32, shuffle=True),
        loss,
        evaluation=DataLoader(test_set, batch_size=256),
        metric=study.accuracy,
        tolerance=0.03,  # what 360 images can tell
        steps=args.steps,
        optimizer_options={"lr": 2e-3, "weight_decay": 0.05},
        per_layer=True,
        name="vit",
        out=args.out,
    )
    print(result)
    print(f"\nReport: {result.folder}/report.html")


if __name__ == "__main__":
    main()
