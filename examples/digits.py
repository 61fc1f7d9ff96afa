"""Handwritten digits: a small convolutional network, trained on four of five rows and tested on every fifth."""
import argparse
import time
from pathlib import Path

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader, Subset, TensorDataset, read_csv

DIGITS = Path(__file__).parent / "data" / "digits.csv"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.3)
        self.output = nn.Linear(128 * 2 * 2, 10)

    def forward(self, x):
        return self.output(self.dropout(self.features(x).flatten(1)))


def load():
    table = read_csv(DIGITS)
    digits = TensorDataset(table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64].long())
    fifth = [i % 5 == 0 for i in range(len(digits))]
    return (Subset(digits, [i for i, test in enumerate(fifth) if test == wanted]) for wanted in (False, True))


def train(model, loader, optimizer, schedule):
    model.train()
    total = 0
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


def test(model, loader):
    model.eval()
    correct = 0
    with dy.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--workers", type=int, default=2)
    args = options.parse_args()
    dy.manual_seed(0)
    train_set, test_set = load()
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=args.workers)
    test_loader = DataLoader(test_set, batch_size=256, num_workers=args.workers)
    model = Net()
    optimizer = dy.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = dy.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=args.epochs * len(train_loader))
    for epoch in range(1, args.epochs + 1):
        begin = time.perf_counter()
        loss = train(model, train_loader, optimizer, schedule)
        accuracy = test(model, test_loader)
        print(f"epoch {epoch:2}: loss {loss:.4f}, test accuracy {accuracy:.2%}, {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
