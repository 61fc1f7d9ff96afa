"""Losses, activations, normalization, recurrent and attention layers, and what people do with modules."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
x = torch.linspace(-2, 2, 6).view(2, 3)
t = torch.tensor([0, 2])
print(F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="none"), F.cross_entropy(x, t, label_smoothing=0.1), nn.NLLLoss()(F.log_softmax(x, 1), t))
print(F.mse_loss(x, torch.zeros(2, 3)), F.l1_loss(x, x + 1), F.smooth_l1_loss(x, x * 2), F.huber_loss(x, x * 3), F.binary_cross_entropy(torch.sigmoid(x), (x > 0).float()))
print(F.binary_cross_entropy_with_logits(x, (x > 0).float(), pos_weight=torch.tensor(2.0)), F.kl_div(F.log_softmax(x, 1), F.softmax(x, 1), reduction="batchmean"), F.cosine_similarity(x[0], x[1], dim=0), F.triplet_margin_loss(x, x + 1, x - 2))
for f in (F.relu, F.gelu, F.silu, F.elu, F.leaky_relu, F.softplus, F.tanh, F.sigmoid, F.hardtanh, F.relu6, F.selu, F.mish, F.logsigmoid, F.softsign):
    print(f(x)[0])
print(F.softmax(x, dim=-1), F.gumbel_softmax(x, hard=True).sum(1) if hasattr(F, "gumbel_softmax") else torch.ones(2), F.normalize(x, dim=1), F.pad(x, (1, 1), value=9))
print(F.layer_norm(x, (3,)), F.dropout(x, 0.5, training=False), F.interpolate(x.view(1, 1, 2, 3), scale_factor=2, mode="nearest").shape, F.linear(x, torch.ones(2, 3), torch.ones(2)))
image = torch.arange(32.0).view(1, 2, 4, 4)
print(F.conv2d(image, torch.ones(1, 2, 3, 3)), F.max_pool2d(image, 2), F.avg_pool2d(image, 2), F.adaptive_avg_pool2d(image, 1).flatten(), F.conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3), padding=1))
for layer, shape in (
    (nn.Conv2d(3, 8, 3, stride=2, padding=1), (1, 3, 8, 8)), (nn.ConvTranspose2d(3, 4, 2, stride=2), (1, 3, 4, 4)), (nn.BatchNorm2d(3), (2, 3, 4, 4)),
    (nn.GroupNorm(2, 4), (2, 4, 5)), (nn.LayerNorm([3, 4]), (2, 3, 4)), (nn.Embedding(10, 4), None), (nn.MaxPool2d(2), (1, 1, 4, 4)),
    (nn.AdaptiveAvgPool2d((1, 1)), (1, 2, 4, 4)), (nn.Upsample(scale_factor=2), (1, 1, 2, 2)), (nn.Bilinear(2, 3, 4), ((5, 2), (5, 3))), (nn.PReLU(), (2, 3)),
):  # fmt: skip
    if shape is None:
        print(layer(torch.tensor([[1, 2, 9]])).shape)
    elif isinstance(shape[0], tuple):
        print(layer(*(torch.ones(s) for s in shape)).shape)
    else:
        print(layer(torch.ones(shape)).shape)
lstm = nn.LSTM(input_size=3, hidden_size=4, num_layers=2, batch_first=True)
out, (h, c) = lstm(torch.zeros(5, 7, 3))
print(out.shape, h.shape, c.shape)
gru, rnn = nn.GRU(3, 4, bidirectional=True), nn.RNN(3, 4)
print(gru(torch.zeros(7, 5, 3))[0].shape, rnn(torch.zeros(7, 5, 3))[1].shape, nn.LSTMCell(3, 4)(torch.zeros(2, 3))[0].shape, nn.GRUCell(3, 4)(torch.zeros(2, 3)).shape)
attention = nn.MultiheadAttention(8, 2, batch_first=True)
o, w = attention(torch.ones(2, 3, 8), torch.ones(2, 3, 8), torch.ones(2, 3, 8))
print(o.shape, w, F.scaled_dot_product_attention(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), is_causal=True).shape)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True), num_layers=2)
print(encoder(torch.ones(2, 5, 8)).shape, sum(p.numel() for p in encoder.parameters()))

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
twin = copy.deepcopy(model)
print(all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters())), model[0].weight is not twin[0].weight, len(model), isinstance(model[1], nn.ReLU))
seen = []
handle = model[1].register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
model(x)
handle.remove()
model(x)
print(seen)
model[0].weight.requires_grad_(False)
model(x).sum().backward()
print(model[0].weight.grad is None, model[2].bias.grad, [n for n, p in model.named_parameters() if p.requires_grad])
clip_grad_norm_(model.parameters(), max_norm=1.0)
optimizer = torch.optim.AdamW([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 1e-2}], lr=1e-3, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
for _ in range(3):
    optimizer.step()
    scheduler.step()
print([round(g["lr"], 6) for g in optimizer.param_groups], scheduler.last_epoch)
nn.init.zeros_(model[0].bias), nn.init.ones_(model[2].bias), nn.init.constant_(model[0].weight, 0.5), nn.init.kaiming_normal_(model[2].weight), nn.init.normal_(model[2].weight, 0, 0.02), nn.init.orthogonal_(model[2].weight) if hasattr(nn.init, "orthogonal_") else None
print(model[0].bias, model[2].bias, model[0].weight[0])
d = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.Identity()})
print(list(d), "a" in d, nn.ParameterList([nn.Parameter(torch.ones(1))])[0], type(d["b"]).__name__)
scaler = torch.amp.GradScaler("cpu", enabled=False)
with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
    y = model(x)
print(y.dtype, scaler.scale(y.float().sum()).dim())
weights = [p.detach().clone() for p in model.parameters()]
print([tuple(w.shape) for w in weights], torch.cat([w.flatten() for w in weights]).shape)
state = model.state_dict()
state["0.bias"] = torch.full((4,), 7.0)
print(model.load_state_dict(state), model[0].bias)
try:
    model.load_state_dict({"0.bias": torch.ones(4)})
except RuntimeError:
    print("RuntimeError")
print(model.load_state_dict({"0.bias": torch.ones(4)}, strict=False).missing_keys)
border = torch.arange(4.0).view(1, 2, 2)
for pad in (nn.ZeroPad2d(1), nn.ConstantPad2d((1, 0, 0, 2), 5.0), nn.ReplicationPad2d((1, 1, 0, 0)), nn.ReflectionPad2d((0, 1, 1, 0)), nn.CircularPad1d((1, 0))):
    print(pad(border), pad.padding)
print(F.pdist(torch.tensor([[0.0, 0], [3, 4], [6, 8]])), nn.Unflatten(1, (2, 1))(border).shape, F.relu_(torch.tensor([-1.0, 1])), F.upsample(border.unsqueeze(0), scale_factor=2).shape)
