import math
from typing import Any

import dyadic as torch
import dyadic.nn.functional as F
from dyadic import Tensor, nn
from dyadic.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset):
    def __init__(self, n: int) -> None:
        self.x = torch.linspace(-1, 1, n).unsqueeze(1)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        return self.x[i], self.x[i] ** 2


class Net(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.up = nn.Linear(1, width)
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.lstm = nn.LSTM(8, 16, 2, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.body = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.up(x)) * self.scale
        for block in self.blocks:
            h = h + block(self.norm(h))
        out: Tensor = self.body(self.drop(h))
        return out


def train() -> float:
    torch.manual_seed(0)
    model = Net()
    data = Squares(256)
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, state="dynamic8")
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=100)
    scaler = torch.amp.GradScaler()
    loss = torch.tensor(0.0)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
    model.eval()
    with torch.no_grad():
        value = model(torch.zeros(3, 1)).sum(dim=1).mean().item()
    torch.save(model.state_dict(), "/tmp/x.safetensors")
    model.load_state_dict(torch.load("/tmp/x.safetensors"))
    lr: list[float] = schedule.get_last_lr()
    assert lr
    return float(value) + math.pi


def tensors() -> None:
    x = torch.randn(2, 3, 4, requires_grad=True)
    a: Tensor = x[0, :, None]
    b: Tensor = x[..., -1]
    c: Tensor = x[x > 0]
    x.detach()[0] = 1.0
    d: tuple[int, ...] = x.shape
    n: int = x.size(0)
    e = x.view(6, 4).t().contiguous().reshape(-1)
    values, indices = x.max(dim=1)
    top = torch.topk(x, 2)
    top.values.sum()
    m = torch.max(x)
    f = torch.cat([a, a], dim=0)
    g = torch.stack((b, b))
    p, q = torch.split(x, 2, dim=2)[0], torch.chunk(x, 2)[0]
    u, s, vh = torch.linalg.svd(x)
    u2 = torch.linalg.svd(x).U
    h = torch.fft.rfft(x, dim=-1)
    i = torch.einsum("bij,bkj->bik", x, x)
    y = x.to(torch.float16).to("cpu").float().double().bfloat16()
    j: float = x.sum().item()
    k: list[Any] = x.tolist()
    z = torch.where(x > 0, x, torch.zeros_like(x))
    x.grad
    w = 1 - x / 2 + x @ x.transpose(1, 2) ** 2 if n else -x
    l1 = torch.arange(10).long()
    l2 = torch.arange(0, 10, 2, dtype=torch.float32)
    logits = torch.randn(4, 10)
    target = torch.randint(0, 10, (4,))
    loss = F.cross_entropy(logits, target, label_smoothing=0.1)
    loss.backward()
    sm = F.softmax(logits, dim=-1).argmax(-1)
    pool = F.max_pool2d(torch.randn(1, 1, 8, 8), 2)
    att = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    info = torch.finfo(torch.float16).eps
    dt = torch.float32.itemsize
    arr = x.detach().numpy()
    fn = torch.from_numpy(arr)
    dev = torch.device("cpu")
    on = torch.zeros(3, device=dev, dtype=torch.int64)
    on += 1
    with torch.inference_mode():
        pass
    torch.nn.init.xavier_uniform_(torch.empty(3, 3))
    gs = torch.autograd.grad(loss, [logits])
    torch.einops.rearrange(x, "a b c -> (a b) c")
    torch.set_num_threads(2)
    print(torch.memory_allocated())


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * 2


if __name__ == "__main__":
    train()
    tensors()
    Double.apply(torch.ones(2))
