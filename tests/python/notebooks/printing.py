"""How tensors print."""
import torch

print(torch.tensor([1.0, 2.5, 1000.0]), torch.tensor([1e-8, 1.0]), torch.tensor([1e10, 1.0]), torch.tensor([float("nan"), float("-inf")]))
print(torch.arange(2000), torch.zeros(100, 100), torch.arange(27).view(3, 3, 3))
print(torch.tensor(1.5), torch.tensor(7), torch.tensor(True), torch.tensor(1 + 2j), torch.tensor([[1.5 - 1j]]))
print(torch.zeros(0), torch.zeros(0, 3), torch.zeros(2, 0, 3), torch.tensor([], dtype=torch.int64))
print(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.int32))
print(torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 2, (torch.ones(2, requires_grad=True) * 2).sum())
print(torch.zeros(2, device="meta"))
print(repr(torch.ones(1)), str(torch.ones(1)), f"{torch.tensor(3.14159):.2f}", "%d" % torch.tensor(3), f"{torch.ones(2)}")
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([3.14159, 1e6]))
torch.set_printoptions(profile="default")
print(torch.tensor([3.14159]), torch.float32, torch.int64, torch.Size([1, 2]), torch.Size([]), torch.device("cpu"), [torch.ones(1), torch.zeros(1)])
print(torch.nn.Parameter(torch.ones(2)))
x = torch.ones(2, requires_grad=True)
for y in (x.exp(), x @ x, x.view(2, 1), x.mean(), x[0], torch.relu(x), x.t(), x.clone(), torch.stack([x, x]), x.pow(2), -x, x / 2, torch.nn.functional.linear(x, torch.ones(1, 2)), x.softmax(0), x.max()):
    print(y)
