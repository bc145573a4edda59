"""Builds the Python package for pip (PEP 517): CMake does the work, this packs what it installs into a wheel.

CMAKE_ARGS in the environment is handed to CMake. Objects stay in build/wheel, so the next build is short.
"""

import base64
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "Simulate, learn and compare placements of neural networks on many devices"


def _version():
    return re.search(r"project\(emplace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _metadata():
    return (f"Metadata-Version: 2.1\nName: emplace\nVersion: {_version()}\nSummary: {SUMMARY}\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n")


def _install(folder):
    """Builds the package and installs it into `folder`."""
    build = ROOT / "build" / "wheel"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DEMPLACE_BUILD_TESTS=OFF", "-DEMPLACE_BUILD_BENCHMARKS=OFF",
               "-DEMPLACE_WITH_CUDA=OFF", "-DEMPLACE_WITH_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}",
               "-DEMPLACE_PYTHON_DIR=."]
    subprocess.check_call(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options,
                           *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
    subprocess.check_call(["cmake", "--build", build, "--target", "emplace_python"])
    subprocess.check_call(["cmake", "--install", build, "--component", "python", "--prefix", folder])


def _files(folder):
    """Yields (name, bytes) of all files of the wheel but its RECORD."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()
    info = f"emplace-{_version()}.dist-info"
    yield f"{info}/METADATA", _metadata().encode()
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: emplace\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name."""
    name = f"emplace-{_version()}-{_tag()}.whl"
    record = f"emplace-{_version()}.dist-info/RECORD"
    lines = []
    with tempfile.TemporaryDirectory() as folder, \
            zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        _install(folder)
        for path, content in _files(folder):
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(content)}")
        wheel.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """There is none: the wheel is built from the repository."""
    raise NotImplementedError("emplace is installed from its repository: pip install . --no-build-isolation")
