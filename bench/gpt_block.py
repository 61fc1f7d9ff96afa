"""A transformer's block, as one writes it for PyTorch, of either package: models.py and torch_bench.py measure the same code."""


def gpt_block(torch):
    """The class, of modules of `torch`: Block(width, heads, causal=True, dropout=0.0), x [batch, length, width] to the same."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width, heads, causal=True, dropout=0.0):
            super().__init__()
            self.heads, self.causal, self.drop = heads, causal, nn.Dropout(dropout) if dropout else None
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def dropped(self, x):
            return x if self.drop is None else self.drop(x)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(batch, length, width)
            x = x + self.dropped(self.proj(mixed))
            return x + self.dropped(self.down(F.gelu(self.up(self.norm2(x)))))

    return Block
