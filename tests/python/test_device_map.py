"""Models larger than memory: device maps, weights on disk."""
import json
import math
from pathlib import Path

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.accelerate import disk_offload, dispatch_model, infer_auto_device_map, init_empty_weights

LLAMA = Path(__file__).parent.parent / "models/data/llama"


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, scale=1.0):
        return x + scale * self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 32)
        self.blocks = nn.ModuleList(Block(32) for _ in range(3))
        self.head = nn.Linear(32, 40, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, scale=0.5)
        return self.head(x)


def net():
    torch.manual_seed(0)
    return Net()


def losses(model, steps=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.arange(24).view(2, 12) % 40
    made = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids).view(-1, 40), ids.flip(1).view(-1))
        loss.backward()
        optimizer.step()
        made.append(loss.item())
    return made


def test_python_modules_train_from_disk_to_the_same_bits(tmp_path):
    in_memory, on_disk = net(), net()
    before = dict(on_disk.named_parameters())
    assert dispatch_model(on_disk, {"": "cpu", "blocks": "disk"}, offload_dir=tmp_path / "new") is on_disk
    assert on_disk.hf_device_map == {"": "cpu", "blocks": "disk"}
    assert losses(in_memory) == losses(on_disk)
    for (name, a), b in zip(on_disk.named_parameters(), in_memory.parameters()):
        assert a is before[name] and torch.equal(a, b) and torch.equal(a.grad, b.grad)
    assert list((tmp_path / "new").iterdir()) == []  # the file has no name
    assert losses(disk_offload(net(), tmp_path)) == losses(net())


def test_maps_have_accelerates_form():
    with init_empty_weights():
        model = Net()
    assert model.head.weight.device.type == "meta"
    block = 4 * (32 * 64 * 2 + 96)
    assert infer_auto_device_map(model) == {"": "cpu"}
    found = infer_auto_device_map(model, max_memory={"cpu": 2 * block + 3 * 4 * 40 * 32, "disk": "1GB"})
    assert list(found.items()) == [("embed", "cpu"), ("blocks.0", "cpu"), ("blocks.1", "cpu"), ("blocks.2", "disk"), ("head", "disk")]
    assert infer_auto_device_map(model, {"cpu": "30KiB"}, no_split_module_classes="Net") == {"": "disk"}
    with pytest.raises(ValueError, match="max_memory: 'cpu': '4 apples' is not a number of bytes"):
        infer_auto_device_map(model, {"cpu": "4 apples"})
    with pytest.raises(ValueError, match="max_memory: 0: parts of a model lie on cpu or disk"):
        infer_auto_device_map(model, {0: "10GiB"})
    with pytest.raises(RuntimeError, match="one module alone reads weights of"):
        infer_auto_device_map(model, {"cpu": 100})


def test_what_is_wrong_is_said(tmp_path):
    model = net()
    with pytest.raises(ValueError, match="dispatch_model: the device_map has parts on disk: give offload_dir"):
        dispatch_model(model, {"": "disk"})
    with pytest.raises(ValueError, match='device_map: "blocks.0" is to lie on 0: parts lie on cpu or disk'):
        dispatch_model(model, {"": "cpu", "blocks.0": 0})
    with pytest.raises(ValueError, match="device_map: the model has no module or parameter blocks.3"):
        dispatch_model(model, {"": "cpu", "blocks.3": "disk"}, tmp_path)
    with pytest.raises(ValueError, match="max_memory is for a device_map that is found by it"):
        torch.from_pretrained(LLAMA, max_memory={"cpu": "1GB"})


def test_pretrained_models_by_map(tmp_path):
    ids = torch.arange(8).view(1, 8)
    whole = torch.from_pretrained(LLAMA)
    assert whole.hf_device_map == {"": "cpu"}
    size = sum(p.nbytes for p in whole.parameters())
    auto = torch.from_pretrained(LLAMA, device_map="auto", max_memory={"cpu": int(size * 0.7)})
    assert set(auto.hf_device_map.values()) == {"cpu", "disk"}
    with torch.no_grad():
        assert torch.equal(auto(ids).logits, whole(ids).logits)
        assert auto.generate(ids, max_new_tokens=5, eos_token_id=[]).tolist() == whole.generate(ids, max_new_tokens=5, eos_token_id=[]).tolist()
    given = {"model.layers": "disk", "": "cpu"}
    with pytest.raises(ValueError, match="goes to disk as f32, and .*give offload_folder"):
        torch.from_pretrained(LLAMA, dtype="q4_0", device_map=given)
    packed = torch.from_pretrained(LLAMA, dtype="q4_0", device_map=given, offload_folder=tmp_path)
    with torch.no_grad():
        assert torch.equal(packed(ids).logits, torch.from_pretrained(LLAMA, dtype="q4_0")(ids).logits)
    assert json.dumps(packed.hf_device_map) == json.dumps(given)
    packed.add_adapter(torch.LoraConfig(r=2))
    loss = packed(ids, labels=ids).loss
    loss.backward()
    assert all(math.isfinite(p.grad.float().norm().item()) for p in packed.parameters() if p.requires_grad)
