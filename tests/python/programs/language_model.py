"""A small language model as people write it for PyTorch: configuration from the command line, autocast, a scaler that may be off, torch.compile, a
checkpoint with everything in it, resumption. Weights and data are computed, so that any library prints the same numbers."""
import argparse
import copy
import inspect
import math
import os
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    block_size: int = 16
    vocab_size: int = 32
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    bias: bool = False


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention")
        self.register_buffer("mask", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, config.block_size), persistent=False)

    def forward(self, x, flash=True):
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (z.view(b, t, self.n_head, c // self.n_head).transpose(1, 2) for z in (q, k, v))
        if self.flash and flash:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = F.softmax(att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
            y = att @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias), Attention(config), nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(approximate="tanh"), nn.Linear(4 * config.n_embd, config.n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=nn.LayerNorm(config.n_embd, bias=config.bias),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            n = module.weight.numel()
            with torch.no_grad():
                module.weight.copy_(0.1 * torch.sin(torch.arange(n, dtype=torch.float32) * 0.37).view_as(module.weight))
                if getattr(module, "bias", None) is not None:
                    torch.nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    def configure_optimizers(self, weight_decay, learning_rate, betas, device_type):
        params = {n: p for n, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters and device_type == "cuda"
        return torch.optim.AdamW(groups, lr=learning_rate, betas=betas, **(dict(fused=True) if fused else {}))


def batch(step, config):
    ix = (torch.arange(4).unsqueeze(1) * 7 + torch.arange(config.block_size + 1) + step) % config.vocab_size
    return ix[:, :-1].contiguous(), ix[:, 1:].contiguous()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="out")
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float32"
    context = nullcontext() if dtype == "float32" else torch.amp.autocast(device_type=device, dtype=getattr(torch, dtype))
    torch.backends.cuda.matmul.allow_tf32 = True
    os.makedirs(args.out, exist_ok=True)
    model = Model(Config()).to(device)
    raw, initial = model, copy.deepcopy(model.state_dict())
    print(sum(p.numel() for p in model.parameters()), len(initial), type(model.transformer.h[0].attn.c_attn))
    scaler = torch.amp.GradScaler(device, enabled=dtype == "float16")
    optimizer = model.configure_optimizers(0.1, 1e-2, (0.9, 0.95), device)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
    for step in range(args.steps):
        x, y = batch(step, model.config)
        with context:
            _, loss = model(x, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        print(f"{step} {loss.item():.4f} {norm.item():.3f} {schedule.get_last_lr()[0]:.5f}")
        if step == args.steps // 2 - 1:
            checkpoint = {"model": raw.state_dict(), "optimizer": optimizer.state_dict(), "config": asdict(raw.config), "iter_num": step, "schedule": schedule.state_dict()}
            torch.save(checkpoint, os.path.join(args.out, "ckpt.pt"))
    checkpoint = torch.load(os.path.join(args.out, "ckpt.pt"), map_location=device)
    again = Model(Config(**checkpoint["config"]))
    print(again.load_state_dict(checkpoint["model"]), checkpoint["iter_num"])
    optimizer = again.configure_optimizers(0.1, 1e-2, (0.9, 0.95), device)
    optimizer.load_state_dict(checkpoint["optimizer"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
    schedule.load_state_dict(checkpoint["schedule"])
    for step in range(checkpoint["iter_num"] + 1, args.steps):
        x, y = batch(step, again.config)
        loss = again(x, y)[1]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(again.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        print(f"again {step} {loss.item():.4f}")
    again.eval()
    with torch.no_grad():
        idx = torch.zeros((1, 1), dtype=torch.long)
        for _ in range(8):
            logits, _ = again(idx[:, -again.config.block_size :])
            idx = torch.cat((idx, logits[:, -1].topk(1).indices), dim=1)
    print(idx.tolist(), str(logits.dtype), logits.shape)


if __name__ == "__main__":
    main()
