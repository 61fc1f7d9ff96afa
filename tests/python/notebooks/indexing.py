"""Indexing and selection."""
import torch

x = torch.arange(12).reshape(3, 4)
print(x[0], x[-1, -1], x[:, 1], x[1:3, ::2], x[..., 0], x[None].shape, x[:, None].shape)
print(x[x > 5], x[[0, 2]], x[torch.tensor([0, 2])], x[[0, 1], [1, 2]], x[:, [0, -1]], x[torch.tensor([True, False, True])])
x[0] = -1
x[x < 0] = 0
x[1:, 2:] += 100
x[:, 0] = torch.tensor([7, 8, 9])
print(x)
print(torch.where(x > 50), torch.nonzero(x > 50), torch.nonzero(x > 50, as_tuple=True), torch.where(x > 50, 1, 0), torch.where(x > 50, x, 0))
print(torch.gather(x, 1, torch.tensor([[0], [1], [2]])), torch.index_select(x, 1, torch.tensor([0, 3])), torch.take(x, torch.tensor([0, 5])), torch.masked_select(x, x > 50))
z = torch.zeros(3, 5)
print(z.scatter_(1, torch.tensor([[1], [2], [3]]), 1.0), z.index_fill_(0, torch.tensor([0]), 5), z.masked_fill_(z == 5, -1), torch.zeros(3).index_add_(0, torch.tensor([0, 0]), torch.ones(2)))
print(torch.zeros(2, 4).scatter_(1, torch.tensor([[1], [2]]), torch.ones(2, 1)), torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3))
for row in x:
    print(row.tolist(), end=" ")
print(list(enumerate(x[0])), [int(v) for v in x[:, 0]], x[0, 0].item(), int(x[0, 0]), float(x[0, 1]), 7 in x)
try:
    x[5]
except IndexError:
    print("IndexError")
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError:
    print("RuntimeError")
print(x.index_select(0, torch.tensor([1])).squeeze(0)[2:], x.select(0, 1), x.take_along_dim(torch.tensor([[0]]), 1), x.diagonal())
print(torch.unravel_index(torch.tensor([5, 7]), (3, 4)), torch.bucketize(torch.tensor([0.5, 2]), torch.tensor([1.0, 2])), torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([2])))
a = torch.zeros(3, 3)
a.fill_diagonal_(1)
print(a, a.index_put_((torch.tensor([0]), torch.tensor([1])), torch.tensor(9.0)), torch.combinations(torch.arange(3)), torch.cartesian_prod(torch.arange(2), torch.arange(2)))
print(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), torch.tril_indices(2, 2), torch.isin(torch.arange(3), torch.tensor([1])))
m = torch.tensor([[0, 2], [3, 0]])
print(torch.nonzero(m, as_tuple=False), m.nonzero(as_tuple=True), m.nonzero(), torch.ones(2).where(torch.tensor([True, False]), torch.zeros(2)))
print(torch.ones(2, 3).sum_to_size(1, 3), torch.ones(4, 2, 3).sum_to_size(2, 1), torch.tensor([3, 4]).apply_(lambda v: v * 2), torch.ones(2).map_(torch.full((2,), 3.0), lambda a, b: a + b))
