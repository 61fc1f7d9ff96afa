"""Broadcasting, chunks of everything else that introductions show: joins, comparisons, conversions, functions on batches."""
import math

import numpy as np
import torch

x = torch.arange(1.0, 13).reshape(3, 4)
print(x.add(1), x.sub(1), x.mul(2), x.div(2), x.pow(2), x.neg(), torch.add(x, 10), x + x.t().reshape(3, 4), 2 ** torch.arange(4), 1 / x[0], 10 - x[0], 7 // torch.arange(1, 4), 7 % torch.arange(1, 4))
print(x.mean(), x.mean(dim=0), x.std(dim=1), x.sum().sqrt(), (x - x.mean(0)) / x.std(0), x.argmax(), x.max(dim=1).indices, x.cumsum(dim=0), x.clamp(2, 5), x.clamp(min=3), x.round(), x.ceil())
print(x > 5, (x > 5).sum(), x[x > 5], (x > 2) & (x < 5), (x > 2) | (x < 1), ~(x > 2), torch.where(x > 5, x, torch.zeros_like(x)), (x == x).all(), torch.any(x > 11))
print(x.numpy(), torch.from_numpy(np.float64([1, 2])), np.array(x[0]), np.sum(x.numpy()), x.numpy().dtype, torch.tensor(np.int32(5)), torch.tensor([np.float32(1.5)]), x[0].tolist(), np.asarray(x)[0, 0])
print(x.to(torch.int32), x.to(torch.float16).dtype, x.long().dtype, x.int().float().dtype, x.double().dtype, x.bool()[0], x.type(torch.uint8).dtype, x.to(x.int()).dtype, x.to("cpu", torch.float64).dtype, x.to(dtype=torch.bfloat16).dtype, x.to("cpu", non_blocking=True) is x, x.to(x.dtype, copy=True) is x)
a, b = torch.tensor([1.0, 2, 3]), torch.tensor([[10.0], [20.0]])
print(a + b, a * b, (a + b).shape, torch.max(a, b), torch.outer(a, a), a.unsqueeze(1) * a, a.view(1, -1, 1).expand(2, 3, 2).shape, a[:, None] + a[None, :])
print(torch.cat([x, x], 0).shape, torch.cat((x, x), dim=1).shape, torch.stack((x, x), dim=2).shape, torch.hstack([a, a]), torch.vstack([a, a]), torch.dstack([a, a]).shape, torch.column_stack([a, a]), x.split([1, 2], dim=0), x.chunk(2, dim=1), torch.tensor_split(a, 2), x.unbind(0)[1])
print(x.T @ x, torch.einsum("ij,ij->i", x, x), torch.bmm(x.expand(2, 3, 4), x.t().expand(2, 4, 3)).shape, x.matmul(torch.ones(4)), torch.dot(a, a), a @ a, torch.norm(a), a.norm(p=1), torch.cdist(x, x)[0], torch.trace(x @ x.T), torch.cross(a, a + 1, dim=0))
print(torch.exp(a), a.log(), a.sqrt(), a.rsqrt(), a.sigmoid(), a.tanh(), torch.sin(a), a.abs(), a.sign(), a.reciprocal(), a.square(), a.exp2(), a.log2(), a.log10(), a.erf(), a.atan(), torch.atan2(a, a), torch.hypot(a, a), a.frac(), a.fmod(2), a.lgamma())
i = torch.tensor([3, 1, 2])
print(i.sort(), i.argsort(), i.topk(2), i.unique(), i.bincount(), i.flip(0), i.roll(1), i.max().item(), i.min(), i.prod(), i.float().mean(), i.median(), i.kthvalue(2), torch.argmin(i), i.cumsum(0), i.diff(), torch.searchsorted(torch.tensor([1, 2, 3]), i))
one_hot = torch.zeros(3, 4).scatter_(1, i.unsqueeze(1), 1)
print(one_hot, one_hot.argmax(1), one_hot.nonzero(), torch.nn.functional.one_hot(i), x.gather(1, i.unsqueeze(1)), x[range(3), i], x[[0, 2]][:, [1, 3]], x.index_select(0, torch.tensor([2, 0])), x.masked_fill(x > 5, 0), torch.tril(x), torch.triu(x, 1), torch.diag(a), x.diagonal(), torch.eye(2)[torch.tensor([1, 0])])
y = x.clone()
y[0, :2] = torch.tensor([100.0, 200.0])
y[:, -1] = 0
y[1] += 5
y[y > 50] = -1
y[..., 0] *= 2
print(y, x is y, y.eq(x).sum(), torch.equal(x, y), torch.allclose(x, x + 1e-7), y.data_ptr() != x.data_ptr())
z = torch.zeros(2, 3)
z.fill_(4).add_(1).mul_(2).zero_().copy_(torch.ones(3))
print(z, z.size(), z.shape[0] * z.shape[1], list(z.shape), z.numel() == math.prod(z.shape), len(z), [r.sum().item() for r in z], sum(z), max(a), min(a), sorted(i), float(a[0]), int(i[0]), bool(a[0] > 0), a[0] + 1, round(float(a[1]), 1))
print(torch.numel(z), torch.is_tensor(z), isinstance(z, torch.Tensor), z.dtype == torch.float32, z.dtype.is_floating_point, torch.float32.itemsize, z.device == torch.device("cpu"), z.device.type, z.requires_grad, z.grad, z.is_leaf, hash(z) == hash(z), z.ndim, z.itemsize, torch.__version__ is not None)
for j, row in enumerate(x[:2]):
    print(j, row, *row.tolist(), f"{row[0]:.1f} {row[1].item():>6.2f}")
big = torch.arange(24).reshape(2, 3, 4)
print(big[0], big[:, 0], big[..., 1], big[1, 2, 3], big[:, :, 1:3].shape, big.permute(2, 0, 1).shape, big.transpose(1, 2).contiguous().view(2, -1).shape, big.sum((0, 2)), big.float().mean(dim=(1, 2), keepdim=True).shape, big.flatten(1).shape, big.unflatten(2, (2, 2)).shape, big.amax(dim=(0, 1)), big.movedim(0, 2).shape, big.view(6, 4)[-1], big.repeat(1, 2, 1).shape, big.squeeze().shape)
