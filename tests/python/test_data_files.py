"""Readers of data files against those who wrote them: numpy, gzip, the formats' own descriptions."""
import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import dyadic as dy
from dyadic.utils import data
from dyadic.utils.data import DataLoader, ImageFolder, TextLines, TokenDataset, transforms

# 16 x 8 pixels, the left half red (254, 0, 0), the right half blue (0, 0, 254): by libjpeg 6.2, quality 90, 4:4:4.
JPEG = (Path(__file__).parents[1] / "data" / "halves.jpg").read_bytes()


def test_csv(tmp_path):
    plain = tmp_path / "a.csv"
    plain.write_text("x,y\n1, 2.5\n\n-3e2,\n+4,nan\r\n")
    t = data.read_csv(plain, skip_rows=1)
    np.testing.assert_array_equal(t.numpy(), np.array([[1, 2.5], [-300, np.nan], [4, np.nan]], np.float32))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"1;2\n3;4"))
    t = data.read_csv(tmp_path / "b.csv.gz", delimiter=";", dtype=dy.int64)
    assert t.dtype == dy.int64 and t.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match='line 1, column 1: "x" is no number; a header is passed over with skip_rows'):
        data.read_csv(plain)
    plain.write_text("1,2\n3\n")
    with pytest.raises(ValueError, match="a.csv: line 2: it has 1 columns, those before have 2"):
        data.read_csv(plain)
    plain.write_text("")
    assert data.read_csv(plain).shape == (0, 0)
    with pytest.raises(RuntimeError, match="cannot be opened: No such file"):
        data.read_csv(tmp_path / "none")


@pytest.mark.parametrize("code, kind", [(8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")])
def test_idx(tmp_path, code, kind):
    values = np.arange(24).reshape(2, 3, 4).astype(kind)
    file = struct.pack(">BBBB3i", 0, 0, code, 3, 2, 3, 4) + values.tobytes()
    (tmp_path / "a").write_bytes(file)
    (tmp_path / "b.gz").write_bytes(gzip.compress(file))
    for name in ("a", "b.gz"):
        t = data.read_idx(tmp_path / name)
        assert t.shape == (2, 3, 4) and t.tolist() == values.tolist()
    for damaged, text in [
        (file[:-1], "needs .* bytes, there are"),
        (file[:6], "it ends too early"),
        (b"PK" + file, "it is no IDX file"),
        (struct.pack(">BBBB4i", 0, 0, 8, 4, *[2**31 - 1] * 4), "sizes are impossible"),
        (gzip.compress(file)[:-12], "it ends too early"),
    ]:
        (tmp_path / "bad").write_bytes(damaged)
        with pytest.raises(ValueError, match=text):
            data.read_idx(tmp_path / "bad")


@pytest.mark.parametrize("kind", "? b h i l B H I L e f d F D".split())
def test_npy(tmp_path, kind):
    for values in (np.arange(6).reshape(2, 3).astype(kind), np.array(3).astype(kind), np.zeros((0, 2), kind), np.ones(5, kind)):
        for order in "CF":
            np.save(tmp_path / "a.npy", np.asarray(values, order=order))
            t = data.load_npy(tmp_path / "a.npy")
            np.testing.assert_array_equal(t.numpy(), values)
        data.save_npy(tmp_path / "b.npy", t)
        back = np.load(tmp_path / "b.npy")
        assert back.dtype == values.dtype.newbyteorder("=") and back.shape == values.shape
        np.testing.assert_array_equal(back, values)
    with open(tmp_path / "v3.npy", "wb") as f:
        np.lib.format.write_array(f, np.ones(3, "f4"), version=(3, 0))
    assert data.load_npy(tmp_path / "v3.npy").tolist() == [1, 1, 1]


def test_damaged_npy(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), "f4"))
    whole = (tmp_path / "a.npy").read_bytes()
    for damaged, text in [
        (whole[:-1], "needs 48 bytes, there are 47"),
        (whole[:20], "not a .npy file"),
        (b"x" + whole, "not a .npy file"),
        (whole.replace(b"'<f4'", b"'<g4'"), "descr '<g4' is no dtype of Dyadic"),
        (whole.replace(b"(3, 4), ", b"(99999999999999999999,),"), "not a .npy file"),
        (whole.replace(b"'shape'", b"'shaqe'"), "not a .npy file"),
    ]:
        (tmp_path / "bad.npy").write_bytes(damaged)
        with pytest.raises(ValueError, match=text):
            data.load_npy(tmp_path / "bad.npy")
    np.save(tmp_path / "r.npy", np.zeros(3, [("x", "f4"), ("y", "i4")]))
    with pytest.raises(ValueError, match="descr is a structure"):
        data.load_npy(tmp_path / "r.npy")
    with pytest.raises(TypeError, match="numpy has no dtype for bf16"):
        data.save_npy(tmp_path / "c.npy", dy.zeros(2, dtype=dy.bfloat16))


def test_tokens_and_lines(tmp_path):
    np.arange(10, dtype="u2").tofile(tmp_path / "t.bin")
    d = TokenDataset(tmp_path / "t.bin", 3)
    assert len(d) == 3 and [t.tolist() for t in d[2]] == [[6, 7, 8], [7, 8, 9]] and d[0][0].dtype == dy.int64
    assert len(TokenDataset(dy.arange(10), 3, stride=1)) == 7 and len(TokenDataset(dy.arange(3), 3)) == 0
    x, y = next(iter(DataLoader(d, batch_size=3)))
    assert x.shape == (3, 3) and (y - x).unique().tolist() == [1]
    (tmp_path / "lines.gz").write_bytes(gzip.compress(("a\n\n" + "b" * 10000 + "\nü").encode()))
    lines = TextLines(tmp_path / "lines.gz")
    assert list(lines) == ["a", "", "b" * 10000, "ü"]
    assert list(DataLoader(lines, batch_size=3, num_workers=2))[0] == ["a", "", "b" * 10000]
    assert data.read_text(tmp_path / "lines.gz").startswith("a\n")


@pytest.fixture
def folder(tmp_path):
    for k, name in enumerate(["cat", "dog"]):
        (tmp_path / name).mkdir()
        for i in range(3):
            data.write_png(tmp_path / name / f"{i}.png", dy.full((3, 8, 12), 100 * k + i, dtype=dy.uint8))
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    return tmp_path


def test_png_round_trip(tmp_path):
    for shape in [(3, 5, 7), (1, 4, 4)]:
        image = dy.randint(0, 256, shape).to(dy.uint8)
        data.write_png(tmp_path / "a.png", image)
        assert data.read_image(tmp_path / "a.png").tolist() == image.tolist()
    assert data.read_image(tmp_path / "a.png", "rgb").shape == (3, 4, 4)
    whole = (tmp_path / "a.png").read_bytes()
    with pytest.raises(ValueError, match="read_image: image: damaged PNG"):
        data.decode_image(whole[:40])
    with pytest.raises(ValueError, match="neither JPEG nor PNG"):
        data.decode_image(b"GIF89a")
    with pytest.raises(TypeError, match=r"write_png: the image is not uint8 .* it is f32\[2, 2\]"):
        data.write_png(tmp_path / "b.png", dy.zeros(2, 2))


def test_jpeg():
    image = data.decode_image(JPEG)
    assert image.shape == (3, 8, 16) and image.dtype == dy.uint8
    expected = dy.zeros(3, 8, 16)
    expected[0, :, :8] = expected[2, :, 8:] = 254
    assert (image.float() - expected).abs().max().item() <= 3
    gray = data.decode_image(JPEG, "gray")
    assert gray.shape == (1, 8, 16) and abs(gray[0, 0, 0].item() - 76) <= 2 and abs(gray[0, 0, 15].item() - 29) <= 2
    for cut in (3, 100, len(JPEG) - 40):
        with pytest.raises(ValueError, match="damaged JPEG"):
            data.decode_image(JPEG[:cut])


def test_image_folder(folder):
    d = ImageFolder(folder)
    assert d.classes == ["cat", "dog"] and d.class_to_idx == {"cat": 0, "dog": 1} and d.targets == [0, 0, 0, 1, 1, 1]
    image, label = d[4]
    assert image.shape == (3, 8, 12) and image[0, 0, 0].item() == 101 and label == 1 and len(d) == 6
    usual = transforms.Compose([
        transforms.Resize(6), transforms.RandomCrop(6), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([0.5] * 3, [0.25] * 3),
    ])
    x, y = next(iter(DataLoader(ImageFolder(folder, usual), batch_size=6, num_workers=2)))
    assert x.shape == (6, 3, 6, 6) and x.dtype == dy.float32 and y.tolist() == [0, 0, 0, 1, 1, 1]
    assert abs(x[5, 0, 0, 0].item() - (102 / 255 - 0.5) / 0.25) < 1e-6
    d = ImageFolder(folder, lambda image: image.float().mean().item(), target_transform=lambda k: k + 10)
    assert d[5] == (102.0, 11) and d.imgs[5] == (str(folder / "dog" / "2.png"), 1)
    (folder / "empty").mkdir()
    with pytest.raises(ValueError, match="empty holds no .jpg, .jpeg or .png file"):
        ImageFolder(folder)
    (folder / "dog" / "3.jpg").write_bytes(b"nothing")
    (folder / "empty").rmdir()
    with pytest.raises(ValueError, match=r"3.jpg: neither JPEG nor PNG \(sample 6 of the dataset\)"):
        list(DataLoader(ImageFolder(folder), num_workers=1))


def test_transforms():
    ramp = dy.arange(48).reshape(1, 6, 8).float()
    assert transforms.CenterCrop(2)(ramp).tolist() == [[[19, 20], [27, 28]]]
    assert transforms.CenterCrop([8, 8])(ramp)[0, 1].tolist() == ramp[0, 0].tolist()
    assert transforms.Pad(1)(ramp).shape == (1, 8, 10)
    assert transforms.Resize(3)(ramp).shape == (1, 3, 4)
    assert transforms.Resize((12, 5))(ramp).shape == (1, 12, 5)
    assert transforms.RandomHorizontalFlip(1.0)(ramp)[0, 0].tolist() == ramp[0, 0].tolist()[::-1]
    assert transforms.RandomVerticalFlip(1.0)(ramp)[0, 0].tolist() == ramp[0, 5].tolist()
    assert transforms.RandomHorizontalFlip(0.0)(ramp).tolist() == ramp.tolist()
    dy.manual_seed(0)
    crops = {transforms.RandomCrop(5)(ramp)[0, 0, 0].item() for _ in range(200)}
    assert crops == {8 * i + j for i in (0, 1) for j in range(4)}
    assert transforms.RandomCrop(8, padding=1)(ramp).shape == (1, 8, 8)
    assert transforms.RandomResizedCrop(4)(ramp).shape == (1, 4, 4)
    with pytest.raises(ValueError, match=r"9 x 9 is more than there is: the image is f32\[1, 6, 8\]"):
        transforms.RandomCrop(9)(ramp)
    with pytest.raises(TypeError, match="to_float"):
        transforms.Normalize([0.5], [0.5])(ramp.to(dy.uint8))


def test_colors():
    image = dy.randint(0, 256, (3, 4, 5)).to(dy.uint8)
    weights = dy.tensor([0.2989, 0.587, 0.114]).reshape(3, 1, 1)
    gray = (image.float() * weights).sum(0, keepdim=True)
    got = transforms.Grayscale()(image)
    assert got.dtype == dy.uint8 and (got.float() - gray).abs().max().item() <= 1.001
    assert transforms.Grayscale(3)(image).tolist() == [got[0].tolist()] * 3
    assert transforms.ColorJitter()(image).tolist() == image.tolist()
    x = image.float() / 255
    factors = set()
    for _ in range(50):
        brighter = transforms.ColorJitter(brightness=0.5)(x * 0.5)
        factor = (brighter / (x * 0.5)).nan_to_num(0).max().item()
        np.testing.assert_allclose(brighter.numpy(), (x * 0.5 * factor).numpy(), atol=1e-6)
        assert 0.499 <= factor <= 1.501
        factors.add(factor)
    assert min(factors) < 0.7 and max(factors) > 1.3
    dull = transforms.ColorJitter(saturation=1.0)(x)  # between gray and twice as far from it
    part = (dull - gray / 255) / (x - gray / 255)
    inside = (dull > 0) & (dull < 1) & ((x - gray / 255).abs() > 0.05)
    assert part[inside].std().item() < 1e-3
    flat = transforms.ColorJitter(contrast=1.0)(x)
    level = (gray / 255).mean().item()
    inside = (flat > 0) & (flat < 1) & ((x - level).abs() > 0.05)
    assert ((flat - level) / (x - level))[inside].std().item() < 1e-3
    erased = transforms.RandomErasing(1.0, scale=(0.2, 0.3), value=7)(dy.zeros(3, 20, 20))
    assert 3 * 400 * 0.15 < (erased == 7).sum().item() < 3 * 400 * 0.35 and ((erased == 7) | (erased == 0)).all()
    assert transforms.RandomErasing(0.0)(x).tolist() == x.tolist()


def test_resize_is_that_of_pytorch():
    stored = np.load(Path(__file__).parent / "data" / "resized.npz")
    names = [n[:-3] for n in stored.files if n.endswith("_in")]
    assert len(names) == 6
    for name in names:
        image, expected = dy.tensor(stored[name + "_in"]), stored[name + "_out"]
        got = transforms.Resize(expected.shape[1:])(image)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, atol=1e-6, err_msg=name)
        bytes_ = transforms.Resize(expected.shape[1:])((image * 255).round().to(dy.uint8))
        assert bytes_.dtype == dy.uint8 and (bytes_.float() - got * 255).abs().max().item() <= 1.01
