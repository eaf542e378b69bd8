# SPDX-License-Identifier: Apache-2.0
"""Makes the private virtual environment once and continues inside it. Standard library only."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

from .errors import CANNOT_READ_OR_WRITE, ZooError, from_os_error

ZOO_DIR = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
REQUIREMENTS = os.path.join(ZOO_DIR, "requirements.txt")
_INSIDE = "TANDEM_ZOO_INSIDE_VENV"


def say(text):
    """Progress goes to stderr, so that stdout stays the answer."""
    print(f"zoo: {text}", file=sys.stderr, flush=True)


def cache_root():
    """Where downloads and models without -o are kept: $XDG_CACHE_HOME/tandem/zoo."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tandem", "zoo")


def venv_dir():
    """build/zoo-venv of the source tree; in the cache if the tree cannot be written."""
    chosen = os.environ.get("TANDEM_ZOO_VENV")
    if chosen:
        return os.path.abspath(chosen)
    tree = os.path.dirname(os.path.dirname(ZOO_DIR))
    build = os.path.join(tree, "build")
    if os.access(build if os.path.isdir(build) else tree, os.W_OK):
        return os.path.join(build, "zoo-venv")
    return os.path.join(os.path.dirname(cache_root()), "zoo-venv")


def _stamp_text():
    with open(REQUIREMENTS, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return f"{digest} python {sys.version_info[0]}.{sys.version_info[1]}\n"


def _is_ready(directory, stamp):
    try:
        with open(os.path.join(directory, "zoo-stamp"), encoding="utf-8") as file:
            return file.read() == stamp and os.access(os.path.join(directory, "bin", "python"), os.X_OK)
    except OSError:
        return False


def _run(command, what, hint):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        # pip closes with notices; the reason is in the last line that names an error.
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no output"]
        raise ZooError(what, because=errors[-1], hint=hint, code=CANNOT_READ_OR_WRITE)


def _make(directory, stamp):
    say(f"making the Python environment in {directory} (once)")
    try:
        import ensurepip  # noqa: F401  Debian leaves it out of python3
        import venv  # noqa: F401
    except ImportError as error:
        raise ZooError("cannot make a Python virtual environment", because=str(error),
                       hint="apt-get install python3-venv", code=CANNOT_READ_OR_WRITE) from error
    shutil.rmtree(directory, ignore_errors=True)
    _run([sys.executable, "-m", "venv", directory], f"cannot make a virtual environment in {directory}",
         "apt-get install python3-venv; or set TANDEM_ZOO_VENV to a folder that can be written")
    say("installing numpy and onnx into it")
    _run([os.path.join(directory, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check",
          "--quiet", "--only-binary=:all:", "-r", REQUIREMENTS],
         "cannot install numpy and onnx", "check the network and the package index that pip uses")
    with open(os.path.join(directory, "zoo-stamp"), "w", encoding="utf-8") as file:
        file.write(stamp)


def ensure_venv():
    """Returns the venv's interpreter; makes the venv if it is missing or its requirements changed."""
    directory = venv_dir()
    stamp = _stamp_text()
    if not _is_ready(directory, stamp):
        try:
            os.makedirs(os.path.dirname(directory), exist_ok=True)
            # Two makes at once must not fill one folder together.
            with open(directory + ".lock", "w", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _is_ready(directory, stamp):
                    _make(directory, stamp)
        except OSError as error:
            raise from_os_error(f"cannot make the Python environment in {directory}", error,
                                "set TANDEM_ZOO_VENV to a folder that can be written") from error
    return os.path.join(directory, "bin", "python")


def enter_venv(arguments):
    """Replaces this process by the same command inside the venv; returns only when already there."""
    if os.environ.get(_INSIDE) == "1":
        return
    python = ensure_venv()
    # A PYTHONPATH of the user could shadow the pinned packages.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment[_INSIDE] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [python, "-s", os.path.join(ZOO_DIR, "zoo"), *arguments], environment)
