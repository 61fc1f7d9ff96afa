import dyadic as torch
import dyadic.array_api as xp
from dyadic import func, linalg
from dyadic.distributions import Normal, kl_divergence
from dyadic.einops import einsum, rearrange, reduce
from dyadic.einops.layers import Rearrange
from dyadic.optim import SGD, Adam
from dyadic.optim.lr_scheduler import CosineAnnealingLR, LambdaLR
from dyadic.testing import assert_close
from dyadic.train import Checkpoint, History
from dyadic.utils.checkpoint import checkpoint
from dyadic.utils.data import DataLoader, TensorDataset, random_split

a = torch.randn(3, 3)
b = linalg.solve(a, torch.eye(3))
assert_close(a @ b, torch.eye(3), atol=1e-4, rtol=1e-4)
x = xp.asarray([1.0, 2.0])
y = xp.sum(x, axis=0)
z = rearrange(a, "i j -> j i")
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Conv1d(1, 2, 3))
opt = SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
sched = CosineAnnealingLR(opt, T_max=10)
lam = LambdaLR(opt, lambda e: 0.9**e)
n = Normal(torch.zeros(2), torch.ones(2))
kl = kl_divergence(n, n)
s = n.rsample((3,))
j = func.jacrev(lambda t: t**2)(a)
v = func.vmap(lambda t: t.sum())(a)
ds = TensorDataset(a, a)
tr, te = random_split(ds, [2, 1])
for p, q in DataLoader(ds, batch_size=2):
    print(p.shape, q.dtype)
out = checkpoint(model, a, use_reentrant=False)
w = torch.nn.functional.one_hot(torch.tensor([0, 1]), 3)
print(a.norm(), a.std(dim=0, keepdim=True), a.var(), a.any(), a.cumsum(0), a.sort(dim=0)[0], a.unique())
print(torch.float16, torch.nf4, torch.dtype("q8_0"))
