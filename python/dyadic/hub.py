"""Files from the net: weights are downloaded once into get_dir()/checkpoints and loaded from there."""
import hashlib
import os
import re
import tempfile
import urllib.request
from urllib.parse import urlparse

from ._serialization import load as _load
from ._ignored import ignored as _ignored

try:
    from tqdm import tqdm  # what other libraries show progress with
except ImportError:

    class tqdm:
        """Shows nothing: the package tqdm is not installed."""

        @_ignored("options", why="nothing is shown")
        def __init__(self, iterable=(), **options):
            self._iterable, self.n = iterable, 0

        def __iter__(self):
            return iter(self._iterable)

        def update(self, n=1):
            """Counts."""
            self.n += n

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            """Nothing was shown."""


_folder = None  # set_dir's
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home():
    """$TORCH_HOME, else ~/.cache/torch."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """Where files are kept: set_dir's folder, else hub in _get_torch_home()."""
    return _folder or os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Another folder for files."""
    global _folder
    _folder = os.path.expanduser(d)


@_ignored("progress", why="nothing is shown")
def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads a file; it appears whole, and only if its SHA-256 begins with hash_prefix. progress is accepted: nothing is shown."""
    digest, folder = hashlib.sha256(), os.path.dirname(os.path.expanduser(dst)) or "."
    part = tempfile.NamedTemporaryFile(dir=folder, delete=False)
    try:
        with part, urllib.request.urlopen(url) as source:
            while block := source.read(1 << 20):
                digest.update(block)
                part.write(block)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f"hub: what came has another hash: hash_prefix is {hash_prefix}, it begins with {digest.hexdigest()[: len(hash_prefix)]}")
        os.replace(part.name, os.path.expanduser(dst))
    except BaseException:
        os.unlink(part.name)
        raise


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """load of the file behind a URL, downloaded unless it is there. check_hash: a name like resnet-0676ba61.pth holds the hash's beginning."""
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return _load(path, map_location=map_location, weights_only=weights_only)


def load(repo_or_dir, model, *args, **kwargs):
    """Raises: code is not fetched from repositories, as it is written for PyTorch itself."""
    raise RuntimeError("hub.load: code is not fetched from repositories here; download it, and load_state_dict_from_url() the weights")
