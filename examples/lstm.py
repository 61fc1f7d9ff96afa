"""An LSTM that reads handwritten digits row by row, as sequences of eight steps."""
import dyadic as dy
from digits import load, test, train
from dyadic import nn
from dyadic.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.lstm = nn.LSTM(8, hidden, num_layers=2, batch_first=True, dropout=0.2, bidirectional=True)
        self.output = nn.Linear(2 * hidden, 10)

    def forward(self, images):
        steps, _ = self.lstm(images[:, 0])  # [batch, 8 rows, 8 pixels]
        return self.output(steps.mean(1))


def main(epochs=15):
    dy.manual_seed(0)
    train_set, test_set = load()
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=1)
    test_loader = DataLoader(test_set, batch_size=256)
    model = Reader()
    optimizer = dy.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = dy.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(train_loader))
    for epoch in range(1, epochs + 1):
        loss = train(model, train_loader, optimizer, schedule)
        print(f"epoch {epoch:2}: loss {loss:.4f}, test accuracy {test(model, test_loader):.2%}")


if __name__ == "__main__":
    main()
