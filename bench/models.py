"""Ordinary models, written as one writes them for PyTorch, each with its training step. compiled.py measures them."""
import math

import dyadic as torch
from dyadic import nn
from dyadic.nn import functional as F

from gpt_block import gpt_block


def training(model, loss_of, batch, optimizer="AdamW", clip=None, low=False, **options):
    """(step, its arguments, what it changes) of a model that learns by loss_of(model, *batch)."""
    options.setdefault("lr", 1e-3)
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), **options)

    def step(*batch):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            loss = loss_of(model, *batch)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss

    return step, batch, list(model.parameters())


def squared(model, x, y):
    return F.mse_loss(model(x), y)


def classified(model, x, y):
    return F.cross_entropy(model(x), y)


def next_token(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def tokens(vocab, *shape):
    return torch.randint(0, vocab, shape), torch.randint(0, vocab, shape)


# -- networks of layers


def linear_regression():
    return training(nn.Linear(64, 1), squared, (torch.randn(256, 64), torch.randn(256, 1)), "SGD")


def logistic_regression():
    return training(nn.Linear(784, 10), classified, (torch.randn(128, 784), torch.randint(0, 10, (128,))), "SGD", momentum=0.9)


def mlp_tiny():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return training(model, classified, (torch.randn(32, 16), torch.randint(0, 4, (32,))), "Adam")


def mlp_images():
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    return training(model, classified, (torch.randn(128, 784), torch.randint(0, 10, (128,))))


class Residual(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def mlp_wide():
    model = nn.Sequential(Residual(512, 1024), Residual(512, 1024))
    return training(model, squared, (torch.randn(256, 512), torch.randn(256, 512)), clip=1.0)


def digits_cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 10),
    )
    return training(model, classified, (torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,))))


class BasicBlock(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.short = nn.Conv2d(before, width, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


def resnet():
    stages = [BasicBlock(16, 16, 1), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *stages, nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(64, 10))
    return training(model, classified, (torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))), "SGD", momentum=0.9, weight_decay=5e-4)


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()

        def twice(before, after):
            return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.SiLU(),
                                 nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.SiLU())

        self.down1, self.down2, self.middle = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.join2, self.join1, self.last = twice(4 * width, 2 * width), twice(2 * width, width), nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        c = self.join2(torch.cat([self.up2(c), b], 1))
        return self.last(self.join1(torch.cat([self.up1(c), a], 1)))


def unet():
    def loss_of(model, x, mask):
        logits = model(x)
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, mask) + dice

    return training(UNet(), loss_of, (torch.randn(4, 3, 32, 32), (torch.rand(4, 1, 32, 32) > 0.5).float()), "Adam")


def audio_cnn():
    layers = []
    for before, after in ((1, 32), (32, 64), (64, 64)):
        layers += [nn.Conv1d(before, after, 9, 4, 4), nn.BatchNorm1d(after), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 35))
    return training(model, classified, (torch.randn(16, 1, 4000), torch.randint(0, 35, (16,))), "Adam", weight_decay=1e-4)


# -- sequences


class Recurrent(nn.Module):
    def __init__(self, layer, vocab=65, width=128):
        super().__init__()
        self.embedding, self.layer, self.head = nn.Embedding(vocab, width), layer(width, width, batch_first=True), nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.layer(self.embedding(x))[0])


def lstm():
    return training(Recurrent(nn.LSTM), next_token, tokens(65, 16, 64), "Adam", clip=1.0)


def gru():
    return training(Recurrent(nn.GRU), next_token, tokens(65, 16, 64), "Adam", clip=1.0)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(5000, 64), nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.bag(x))


def text_bags():
    return training(Bag(), classified, (torch.randint(0, 5000, (64, 40)), torch.randint(0, 4, (64,))), "SGD", lr=0.5)


# -- transformers


Block = gpt_block(torch)


class Gpt(nn.Module):
    def __init__(self, vocab, length, layers, heads, width, dropout=0.0):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, True, dropout) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x) + self.positions(torch.arange(x.shape[1])))))


def gpt_nano():
    return training(Gpt(64, 32, 2, 2, 32), next_token, tokens(64, 4, 32))


def gpt_char():
    return training(Gpt(65, 64, 4, 4, 128, 0.1), next_token, tokens(65, 12, 64), clip=1.0)


def gpt_char_bf16():
    return training(Gpt(65, 64, 4, 4, 128), next_token, tokens(65, 12, 64), clip=1.0, low=True)


def gpt_inference():
    model, x = Gpt(65, 64, 4, 4, 128), torch.randint(0, 65, (1, 64))
    model.eval()

    def step(x):
        with torch.no_grad():
            return F.softmax(model(x)[:, -1] / 0.8, -1)

    return step, (x,), list(model.parameters())


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def turned(self, x, cos, sin):
        half = x.shape[-1] // 2
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(batch, length, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(self.turned(q, cos, sin), self.turned(k, cos, sin), v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, vocab=256, length=64, layers=3, heads=4, width=128, inner=344):
        super().__init__()
        self.embedding, self.norm, self.head = nn.Embedding(vocab, width), nn.RMSNorm(width), nn.Linear(width, vocab, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, inner) for _ in range(layers))
        angles = torch.outer(torch.arange(length).float(), 1e4 ** -torch.linspace(0, 1, width // heads // 2)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        h = self.embedding(x)
        for block in self.blocks:
            h = block(h, self.cos, self.sin)
        return self.head(self.norm(h))


def llama():
    return training(Llama(), next_token, tokens(256, 8, 64), clip=1.0)


class ViT(nn.Module):
    def __init__(self, width=96, patch=4, layers=3):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, 65, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, 4, False, 0.1) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit():
    return training(ViT(), lambda m, x, y: F.cross_entropy(m(x), y, label_smoothing=0.1), (torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))))


class Bert(nn.Module):
    def __init__(self, vocab=1000, length=64, width=128, layers=3):
        super().__init__()
        self.tokens, self.positions, self.norm = nn.Embedding(vocab, width), nn.Embedding(length, width), nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.1, "gelu", batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.encoder(self.norm(self.tokens(x) + self.positions(torch.arange(x.shape[1])))))


def bert():
    return training(Bert(), next_token, tokens(1000, 8, 64), clip=1.0)


class Mixture(nn.Module):
    def __init__(self, width=64, experts=4):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(experts))

    def forward(self, x):
        weights, chosen = F.softmax(self.gate(x), -1).topk(2)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == number)
            out = out.index_add(0, rows, expert(x[rows]) * weights[rows, place].unsqueeze(-1))
        return x + out


def mixture_of_experts():
    model = nn.Sequential(nn.Linear(32, 64), Mixture(), Mixture(), nn.Linear(64, 10))
    return training(model, classified, (torch.randn(256, 32), torch.randint(0, 10, (256,))))


# -- losses of one's own


def autoencoder():
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784), nn.Sigmoid())
    return training(model, lambda m, x: F.binary_cross_entropy(m(x), x), (torch.rand(128, 784),), "Adam")


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.mean, self.log_variance = nn.Linear(784, 256), nn.Linear(256, 16), nn.Linear(256, 16)
        self.decoder = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 784))

    def forward(self, x):
        h = F.relu(self.first(x))
        mean, log_variance = self.mean(h), self.log_variance(h)
        return self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)), mean, log_variance


def vae():
    def loss_of(model, x):
        logits, mean, log_variance = model(x)
        kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        return (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl) / x.shape[0]

    return training(Vae(), loss_of, (torch.rand(128, 784),), "Adam")


def gan():
    generator = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(0.2), nn.BatchNorm1d(128), nn.Linear(128, 784), nn.Tanh())
    judge = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(256, 1))
    first = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(real):
        n = real.shape[0]
        fake = generator(torch.randn(n, 32))
        first.zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(real), torch.ones(n, 1)) + F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(n, 1))
        loss.backward()
        first.step()
        second.zero_grad()
        other = F.binary_cross_entropy_with_logits(judge(fake), torch.ones(n, 1))
        other.backward()
        second.step()
        return loss, other

    return step, (torch.rand(64, 784) * 2 - 1,), [*generator.parameters(), *judge.parameters()]


def pinn():
    """u'' = -sin(x), by the second derivative of a network."""
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def loss_of(model, x):
        u = model(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
        return (ddu + torch.sin(x)).pow(2).mean() + u[0].pow(2).mean()

    return training(model, loss_of, (torch.linspace(0, math.pi, 256).unsqueeze(1).requires_grad_(),), "Adam")


def policy():
    """A step of PPO."""
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))

    def loss_of(model, states, actions, advantages, returns, before):
        out = model(states)
        logits, values = out[:, :4], out[:, 4]
        logp = F.log_softmax(logits, -1)
        ratio = (logp.gather(1, actions.unsqueeze(1)).squeeze(1) - before).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        entropy = -(logp.exp() * logp).sum(-1).mean()
        return F.mse_loss(values, returns) * 0.5 - gain - 0.01 * entropy

    n = 512
    batch = torch.randn(n, 8), torch.randint(0, 4, (n,)), torch.randn(n), torch.randn(n), -torch.rand(n) - 1
    return training(model, loss_of, batch, "Adam", clip=0.5)


MODELS = {f.__name__: f for f in (
    linear_regression, logistic_regression, mlp_tiny, mlp_images, mlp_wide, digits_cnn, resnet, unet, audio_cnn, lstm, gru, text_bags, gpt_nano,
    gpt_char, gpt_char_bf16, gpt_inference, llama, vit, bert, mixture_of_experts, autoencoder, vae, gan, pinn, policy,
)}
