"""Automatic differentiation."""
import torch

x = torch.ones(5)
y = torch.zeros(3)
w = torch.linspace(-1, 1, 15).view(5, 3).requires_grad_(True)
b = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(z, loss)
print(z.grad_fn is not None, loss.grad_fn is not None)
loss.backward()
print(w.grad)
print(b.grad)
z = torch.matmul(x, w) + b
print(z.requires_grad)
with torch.no_grad():
    z = torch.matmul(x, w) + b
print(z.requires_grad)
z = torch.matmul(x, w) + b
z_det = z.detach()
print(z_det.requires_grad)
inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")
a = torch.tensor([2.0, 3.0], requires_grad=True)
c = torch.tensor([6.0, 4.0], requires_grad=True)
Q = 3 * a**3 - c**2
Q.backward(gradient=torch.tensor([1.0, 1.0]))
print(9 * a**2 == a.grad, -2 * c == c.grad)
print(a.is_leaf, Q.is_leaf, a.grad_fn, Q.requires_grad)
x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
print(x, y, z, out)
out.backward()
print(x.grad)
g = torch.autograd.grad((x**2).sum(), x)
print(g)
(first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(first, second)
x.grad = None
print(x.grad)
v = torch.randn(3, requires_grad=True)
s = (v * 2).sum()
s.backward()
print(v.grad)
try:
    s.backward()
except RuntimeError:
    print("the graph is gone")
try:
    (v * 2).backward()
except RuntimeError:
    print("not a scalar")
x = torch.arange(3.0, requires_grad=True)
y = x * x
y.retain_grad()
y.sum().backward()
print(y.grad, x.grad)
h = x.register_hook(lambda g: g * 10)
x.grad.zero_()
(x * 1).sum().backward()
print(x.grad)
h.remove()
with torch.enable_grad():
    print((x * 1).requires_grad)
with torch.set_grad_enabled(False):
    print((x * 1).requires_grad, torch.is_grad_enabled())


@torch.no_grad()
def f(x):
    return x * 2


print(f(x).requires_grad)
with torch.inference_mode():
    print((x * 1).requires_grad)


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


i = torch.tensor([0.0, 1.0], requires_grad=True)
Exp.apply(i).sum().backward()
print(i.grad)
print(torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0])))
x = torch.tensor([1.0], requires_grad=True)
x.detach_()
print(x.requires_grad)
x.requires_grad = True
with torch.no_grad():
    x -= 0.5
print(x)
x.data.mul_(2)
print(x, x.detach().clone())
p = torch.zeros(3, requires_grad=True)
torch.nn.functional.mse_loss(p, torch.ones(3)).backward()
print(p.grad)
print(torch.autograd.gradcheck(lambda x: x.sin(), torch.tensor([0.3], dtype=torch.double, requires_grad=True)))
