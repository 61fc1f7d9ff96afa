"""A GPT that learns to write like a text, character by character: nanoGPT's recipe for CPUs.

python shakespeare.py FILE [--steps N]; tiny Shakespeare reaches a validation loss of about 1.91.
"""
import argparse
import math

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F

LAYERS, HEADS, WIDTH, BLOCK, BATCH, WARMUP = 4, 4, 128, 64, 12, 100


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, WIDTH)
        x = x + self.proj(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                residual = name.endswith(("proj.weight", "down.weight"))  # what writes into the residual stream
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * LAYERS) if residual else 0.02)

    def forward(self, x):
        hidden = self.tokens(x) + self.positions(dy.arange(x.shape[1]))
        return F.linear(self.norm(self.blocks(hidden)), self.tokens.weight)

    def loss(self, windows):  # of BLOCK + 1 tokens
        return F.cross_entropy(self(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file")
    options.add_argument("--steps", type=int, default=2000)
    args = options.parse_args()
    dy.manual_seed(1)
    text = open(args.file, encoding="utf-8").read()
    number = {c: i for i, c in enumerate(sorted(set(text)))}
    data = dy.tensor([number[c] for c in text])
    train, held_out = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]
    model = Gpt(len(number))
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0}]
    optimizer = dy.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    cosine = lambda t: 0.1 + 0.45 * (1 + math.cos(math.pi * (t - WARMUP) / max(1, args.steps - WARMUP)))
    schedule = dy.optim.lr_scheduler.LambdaLR(optimizer, lambda t: (t + 1) / (WARMUP + 1) if t < WARMUP else cosine(t))
    for step in range(1, args.steps + 1):
        loss = model.loss(train[dy.randint(0, len(train) - BLOCK, (BATCH, 1)) + dy.arange(BLOCK + 1)])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with dy.no_grad():
        losses = [model.loss(held_out[i : i + BLOCK + 1][None]).item() for i in range(0, len(held_out) - BLOCK, BLOCK)]
    print(f"validation loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
