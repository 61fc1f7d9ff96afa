"""Number formats: limits, downcasting, products of short vectors, integers."""
import torch

for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    print(torch.finfo(dtype))
for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    print(torch.iinfo(dtype))
print(torch.finfo(torch.float32).eps, torch.finfo(torch.float16).max, torch.iinfo(torch.int64).max)
print(torch.finfo().dtype, torch.finfo(torch.bfloat16).bits, torch.finfo(torch.float32).tiny, torch.iinfo(torch.int8).bits)
scalar = torch.scalar_tensor(1 / 3, dtype=torch.double)
print(f"{scalar.item():.60f}")
for dtype in (torch.float, torch.half, torch.bfloat16):
    print(f"{scalar.to(dtype=dtype).item():.60f}")
double_tensor = torch.linspace(-1, 1, 10, dtype=torch.double)
float_tensor = double_tensor.to(dtype=torch.float)
half_tensor = double_tensor.to(dtype=torch.half)
bfloat_tensor = double_tensor.to(dtype=torch.bfloat16)
print(double_tensor[:4], float_tensor[:4], half_tensor[:4], bfloat_tensor[:4])
print(double_tensor.dot(double_tensor), bfloat_tensor.dot(bfloat_tensor), float_tensor.dot(float_tensor), half_tensor.dot(half_tensor))
print(torch.tensor([1e38]) * 10, torch.tensor([70000.0]).half(), torch.tensor([300]).to(torch.uint8), torch.tensor([2.9, -2.9]).long())
print(torch.tensor([5, -5]) // 2, torch.tensor([5, -5]) % 3, torch.tensor([5, -5]) / 2, torch.tensor([7.5]) // 2)
print(torch.fmod(torch.tensor([5, -5]), 3), torch.remainder(torch.tensor([5.0, -5]), 3), torch.tensor([2]) ** 3, torch.tensor([6]) & 3)
for f in (lambda: torch.tensor([1]) // 0, lambda: torch.tensor([1]) % 0, lambda: torch.tensor([1, 2]) // torch.tensor([1, 0])):
    try:
        f()
    except RuntimeError as e:
        print("ZeroDivisionError" in str(e))
print(torch.tensor([1]) / 0, torch.tensor([1.0]) // 0, torch.tensor([-1.0]) / 0)
print(torch.nextafter(torch.tensor([1.0, 0.0]), torch.tensor([2.0, -1.0])) - torch.tensor([1.0, 0.0]))
print(torch.tensor([float("nan"), float("inf"), 1.0]).isnan(), torch.isinf(torch.tensor([float("-inf")])), torch.nan_to_num(torch.tensor([float("nan")])))
print(torch.tensor(1) + 1.5, (torch.tensor([1]) + torch.tensor(1.5)).dtype, (torch.ones(1, dtype=torch.half) + 1).dtype, torch.tensor(True) + True)
print(torch.round(torch.tensor([0.5, 1.5, 2.567]), decimals=1), torch.trunc(torch.tensor([-1.5])), torch.floor(torch.tensor([-1.5])), torch.frac(torch.tensor([1.25])))
print(torch.bitwise_not(torch.tensor([0, 5])), ~torch.tensor([True]), torch.tensor([1]) << 3, torch.tensor([True]) ^ torch.tensor([True]))
print(torch.frexp(torch.tensor([3.0, 0.1])), torch.ldexp(torch.tensor([1.0]), torch.tensor([3])), torch.copysign(torch.tensor([1.0]), torch.tensor([-0.0])))
print(torch.pi, torch.inf, torch.nan, torch.e, torch.newaxis)
torch.set_default_dtype(torch.float64)
print(torch.ones(1).dtype, torch.tensor([1.0]).dtype)
torch.set_default_dtype(torch.float32)
