"""Products of vectors, matrices and stacks of matrices; einsum and patterns; broadcasting."""
import torch

a = torch.arange(6.0).view(2, 3)
b = torch.arange(12.0).view(3, 4)
print(a @ b, torch.mm(a, b), a.mm(b), torch.matmul(a, b), torch.mv(a, torch.ones(3)), torch.dot(torch.ones(3), torch.arange(3.0)))
batch = torch.arange(12.0).view(2, 2, 3)
other = torch.arange(12.0).view(2, 3, 2)
print(torch.bmm(batch, other), batch @ other, torch.matmul(batch, b).shape, (batch @ torch.ones(3)).shape, torch.matmul(torch.ones(5, 1, 2, 3), torch.ones(4, 3, 2)).shape)
print(torch.bmm(batch, other, out=torch.empty(2, 2, 2)), torch.baddbmm(torch.ones(2, 2, 2), batch, other), torch.addmm(torch.ones(2, 4), a, b), torch.addmm(torch.ones(4), a, b, beta=0.5, alpha=2))
print(torch.einsum("ij,jk->ik", a, b), torch.einsum("ij->ji", a), torch.einsum("ij->", a), torch.einsum("bij,bjk->bik", batch, other), torch.einsum("i,j->ij", torch.arange(2.0), torch.arange(3.0)), torch.einsum("ii->i", torch.eye(2)), torch.einsum("...ij->...ji", batch).shape)
print(torch.outer(torch.arange(2.0), torch.arange(3.0)), torch.ger(torch.ones(2), torch.ones(2)), torch.trace(torch.eye(3)), torch.kron(torch.eye(2), torch.ones(1, 2)), torch.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]), dim=0), torch.tensordot(a, b, dims=1), torch.inner(torch.ones(2), torch.ones(2)), torch.vdot(torch.ones(2), torch.ones(2)))
print((torch.ones(3, 1) + torch.ones(1, 4)).shape, torch.ones(2, 3) * torch.tensor([1.0, 2, 3]), torch.broadcast_to(torch.arange(3), (2, 3)), torch.broadcast_tensors(torch.zeros(1, 2), torch.zeros(3, 1))[0].shape)
print(torch.chain_matmul(a, b, torch.ones(4, 1)), torch.cdist(a, a), torch.renorm(a, 2, 0, 1.0), torch.clamp(a, min=1), a.clip(1, 3), torch.lerp(torch.zeros(2), torch.ones(2), 0.25))
print(torch.abs(torch.tensor([-1, 2])), torch.sqrt(torch.tensor([4.0])), torch.sin(torch.zeros(1)), torch.exp(torch.tensor([0.0])), torch.log(torch.tensor([1.0])), torch.sigmoid(torch.zeros(1)), torch.tanh(torch.zeros(1)), torch.relu(torch.tensor([-1.0, 1])), torch.sign(torch.tensor([-2.0])), torch.rsqrt(torch.tensor([4.0])), torch.pow(torch.tensor([2.0]), 3), torch.square(torch.tensor([3.0])), torch.reciprocal(torch.tensor([4.0])))
c = torch.ones(2, 2)
c.add_(1).mul_(3).sub_(1).div_(5).pow_(2).sqrt_().neg_().abs_().clamp_(0, 0.5)
print(c, torch.relu_(torch.tensor([-1.0, 2])), c.addmm_(torch.eye(2), torch.eye(2)), torch.add(c, c, alpha=2), torch.sub(c, 1), torch.true_divide(c, 2), torch.addcmul(c, c, c, value=2), c.lt(1), c.eq(c), c.ne(0), torch.ge(c, 1), torch.logical_and(c > 0, c < 1))
print(torch.allclose(c, c + 1e-9), torch.isclose(c, c), torch.equal(c, c), c.equal(c), c.allclose(c), (c == c).all().item())
