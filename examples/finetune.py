"""Fine-tuning: a network that knows the digits 0 to 4 learns 5 to 9 with all but its output layer frozen."""
import dyadic as dy
from digits import Net, load, test, train
from dyadic import nn
from dyadic.utils.data import DataLoader, Subset


def part(dataset, wanted):
    """Those of the dataset whose label is wanted, as labels 0 to 4."""
    kept = Subset(dataset, [i for i, (_, label) in enumerate(dataset) if label.item() in wanted])
    return [(image, label - min(wanted)) for image, label in kept]  # a list is a dataset, too


def fit(model, parameters, train_set, test_set, epochs):
    optimizer = dy.optim.AdamW(parameters, lr=3e-3)
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    schedule = dy.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    for _ in range(epochs):
        loss = train(model, loader, optimizer, schedule)
    return loss, test(model, DataLoader(test_set, batch_size=256))


dy.manual_seed(0)
train_set, test_set = load()
low, high = range(5), range(5, 10)
model = Net()
model.output = nn.Linear(512, 5)
loss, accuracy = fit(model, model.parameters(), part(train_set, low), part(test_set, low), epochs=5)
print(f"0 to 4: loss {loss:.4f}, test accuracy {accuracy:.2%}")

model.features.requires_grad_(False)
model.output = nn.Linear(512, 5)
before = [p.clone() for p in model.features.parameters()]
trainable = [p for p in model.parameters() if p.requires_grad]
print(f"trained now: {sum(p.numel() for p in trainable)} of {sum(p.numel() for p in model.parameters())} parameters")
loss, accuracy = fit(model, trainable, part(train_set, high), part(test_set, high), epochs=10)
unchanged = all(dy.equal(a, b) for a, b in zip(before, model.features.parameters()))
print(f"5 to 9: loss {loss:.4f}, test accuracy {accuracy:.2%}, frozen parameters unchanged: {unchanged}")
