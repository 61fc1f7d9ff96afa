"""Building, printing, training, saving and loading networks."""
import io
import os
import tempfile

import torch
from torch import nn
import torch.nn.functional as F


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
print(f"Using {device} device")
model = NeuralNetwork().to(device)
X = torch.rand(1, 28, 28, device=device)
logits = model(X)
pred_probab = nn.Softmax(dim=1)(logits)
y_pred = pred_probab.argmax(1)
print(y_pred.shape, pred_probab.sum().isclose(torch.tensor(1.0)))
for name, param in model.named_parameters():
    print(f"Layer: {name} | Size: {param.size()} | {param.dtype} {param.requires_grad}")
print(sum(p.numel() for p in model.parameters() if p.requires_grad))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(6 * 4 * 4, 20)
        self.dropout = nn.Dropout(0.25)
        self.bn = nn.BatchNorm1d(20)
        self.fc2 = nn.Linear(20, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = F.avg_pool2d(x, 3)
        x = torch.flatten(x, 1)
        x = self.dropout(F.relu(self.bn(self.fc1(x))))
        return F.log_softmax(self.fc2(x), dim=1)


net = Net()
print(net(torch.ones(2, 1, 28, 28)).shape, net.training, net.eval().training, net.train().training)
print([n for n, _ in net.named_modules()], [type(m).__name__ for m in net.children()])
print([k for k in net.state_dict()])
net.zero_grad()
net(torch.ones(2, 1, 28, 28)).sum().backward()
print(net.conv1.bias.grad.shape, net.conv1.weight.shape, net.fc1.in_features, net.conv1.kernel_size)


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.01)


net.apply(init)
print(net.fc2.bias[:3])

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = x * 2 + 1
model = nn.Linear(1, 1)
with torch.no_grad():
    model.weight.fill_(0.0)
    model.bias.fill_(0.0)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
for epoch in range(50):
    pred = model(x)
    loss = loss_fn(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 10 == 0:
        print(f"loss: {loss.item():>.4f}  [{epoch:>5d}/{50:>5d}] lr {scheduler.get_last_lr()[0]:.4f}")
print(model.weight, model.bias)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"{model.weight.item():.4f} {model.bias.item():.4f}", optimizer.param_groups[0]["lr"])

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pth")
torch.save(model.state_dict(), path)
other = nn.Linear(1, 1)
print(other.load_state_dict(torch.load(path, weights_only=True)))
print(torch.equal(other.weight, model.weight))
torch.save({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": 0.5}, path)
checkpoint = torch.load(path)
print(checkpoint["epoch"], checkpoint["loss"], sorted(checkpoint))
optimizer.load_state_dict(checkpoint["optimizer"])
buffer = io.BytesIO()
torch.save([torch.arange(3), {"a": torch.ones(2)}], buffer)
buffer.seek(0)
print(torch.load(buffer))
print(nn.CrossEntropyLoss()(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([2])), nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0])), F.nll_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([0])))
print([len(list(m.parameters())) for m in (nn.ModuleList([nn.Linear(1, 2)]), nn.Identity(), nn.Embedding(3, 2), nn.LSTM(2, 3), nn.LayerNorm(4))])
model.register_buffer("steps", torch.tensor(3))
model.scale = nn.Parameter(torch.ones(1))
print([n for n, _ in model.named_buffers()], [n for n, _ in model.named_parameters()])
for p in model.parameters():
    p.requires_grad = False
print(any(p.requires_grad for p in model.parameters()), model.double().weight.dtype, model.float().weight.dtype, next(model.parameters()).device)
