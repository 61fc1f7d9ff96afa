"""A Llama of 1.1 billion parameters trained for five steps in 12 GB: weights in bf16 (made so: no f32 copy ever exists) and
rounded stochastically, 8-bit optimizer states, activations computed again in backward. First the same on meta, which predicts.

python llama.py [layers] [steps]
"""
import math
import sys
import time

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.utils.checkpoint import checkpoint

VOCAB, WIDTH, HEADS, KV_HEADS, HIDDEN, EPS = 32000, 2048, 32, 4, 5632, 1e-5


def rotary(x, base=10000):
    """Pairs of numbers turned by their position, so that products depend on distances alone."""
    half = x.shape[-1] // 2
    with dy.no_grad():
        speed = dy.exp(dy.arange(half, device=x.device) * (-math.log(base) / half))
        angle = dy.arange(x.shape[-2], device=x.device)[:, None] * speed
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return dy.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Block(nn.Module):
    def __init__(self, **made):
        super().__init__()
        kv = WIDTH // HEADS * KV_HEADS
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=EPS, **made), nn.RMSNorm(WIDTH, eps=EPS, **made)
        sizes = dict(q=(WIDTH, WIDTH), k=(WIDTH, kv), v=(WIDTH, kv), o=(WIDTH, WIDTH), gate=(WIDTH, HIDDEN), up=(WIDTH, HIDDEN),
                     down=(HIDDEN, WIDTH))
        for name, (inputs, outputs) in sizes.items():
            setattr(self, name, nn.Linear(inputs, outputs, bias=False, **made))

    def forward(self, x):
        def heads(t, count):  # each head of keys and values serves several of queries
            return t.unflatten(-1, (count, -1)).transpose(1, 2).repeat_interleave(HEADS // count, 1)

        z = self.norm1(x)
        q, k, v = rotary(heads(self.q(z), HEADS)), rotary(heads(self.k(z), KV_HEADS)), heads(self.v(z), KV_HEADS)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        z = self.norm2(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))


def train(device, layers, steps):
    dy.manual_seed(0)
    dy.reset_peak_memory_stats(device)
    made = dict(dtype=dy.bfloat16, device=device)
    blocks = nn.ModuleList(Block(**made) for _ in range(layers))
    model = nn.ModuleDict(dict(tok=nn.Embedding(VOCAB, WIDTH, **made), blocks=blocks,
                               norm=nn.RMSNorm(WIDTH, eps=EPS, **made), head=nn.Linear(WIDTH, VOCAB, bias=False, **made)))
    for p in model.parameters():
        if p.dim() >= 2:
            nn.init.normal_(p, std=0.02)
    optimizer = dy.optim.AdamW(model.named_parameters(), lr=1e-4, state=dy.dynamic8, stochastic_rounding=True,
                               keep32=["tok.weight"])  # as bitsandbytes has it, for embeddings
    text = dy.randint(0, VOCAB, (1, 257), device=device)
    for step in range(1, steps + 1):
        begin, x = time.perf_counter(), model.tok(text[:, :-1])
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        loss = F.cross_entropy(model.head(model.norm(x)).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if device == "cpu":
            print(f"step {step}: loss {loss.item():.4f}, {time.perf_counter() - begin:.1f} s", flush=True)
    return sum(p.numel() for p in model.parameters()), dy.max_memory_allocated(device)


layers, steps = (int(n) for n in (*sys.argv[1:], *("22", "5")[len(sys.argv) - 1 :]))
parameters, predicted = train("meta", layers, 2)
print(f"{parameters / 1e9:.3f} billion parameters; predicted peak {predicted / 1e9:.2f} GB", flush=True)
measured = train("cpu", layers, steps)[1]
print(f"measured peak {measured / 1e9:.2f} GB, {100 * (measured / predicted - 1):+.2f} % from the prediction")
