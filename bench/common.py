# SPDX-License-Identifier: Apache-2.0
"""What the programs of bench/ share: places, the Python environment, the machine, an ISA cap, statistics."""
import ctypes
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.path.join(ROOT, "build", "bench")
MODELS = os.path.join(BUILD, "models")
FASHION = "/usr/share/datasets/fashion-mnist"
NETS = ("resnet18", "mobilenet_v3_large", "efficientnet_lite0", "efficientnet_lite4")
REQUIREMENTS = os.path.join(ROOT, "bench", "requirements.txt")


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def fail(text, code=3):
    say(f"error: {text}")
    sys.exit(code)


def enter_venv(requirements=REQUIREMENTS, build=BUILD):
    """Continues this program inside the environment build/venv, which the first call makes from its requirements."""
    venv = os.path.join(build, "venv")
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return
    python = os.path.join(venv, "bin", "python")
    stamp = os.path.join(venv, "stamp")
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    made = ""
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            made = file.read()
    if made != wanted:
        say(f"making the Python environment in {venv} (once)")
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", "-q",
                        "--only-binary=:all:", "-r", requirements], check=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    os.execv(python, [python, "-s", *sys.argv])


def tandem_program(given):
    program = given or os.path.join(ROOT, "build", "release", "bin", "tandem")
    if not os.access(program, os.X_OK):
        fail(f"there is no {program}; make build, or --tandem PROGRAM", 7)
    return program


def float_model(net):
    """The network in floating point: trained weights where the zoo has them, random ones (He) elsewhere."""
    path = os.path.join(MODELS, f"{net}.onnx")
    if not os.path.exists(path):
        os.makedirs(MODELS, exist_ok=True)
        zoo = os.path.join(ROOT, "tools", "zoo", "zoo")
        how = "get" if net == "efficientnet_lite0" else "make"
        subprocess.run([zoo, how, net, "-o", path], check=True, stdout=sys.stderr)
    return path


def int8_model(net, tandem):
    """The same as QDQ ONNX by `tandem quantize`: one file, read by Tandem and by every peer."""
    path = os.path.join(MODELS, f"{net}.int8.onnx")
    if not os.path.exists(path):
        if not os.path.isdir(FASHION):
            fail("calibration wants Debian's package dataset-fashion-mnist", 7)
        subprocess.run([tandem, "quantize", float_model(net), "--calib", FASHION, "--calib-images", "64",
                        "-q", "-o", path], check=True, stdout=sys.stderr)
    return path


def u8_model(path):
    """The same file with its signed activations stored as u8 with zero point 128: the same values everywhere.

    ONNX Runtime fuses a quantized convolution only where input and output have one type; given our mix of u8
    and symmetric s8 it computes most of a mobile network in floating point. This form shows it at its best.
    """
    import numpy
    import onnx
    from onnx import numpy_helper
    out = path.removesuffix(".onnx") + ".u8.onnx"
    if os.path.exists(out):
        return out
    model = onnx.load(path)
    graph = model.graph
    constants = {c.name: c for c in graph.initializer}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in [n for n in graph.node if n.op_type == "QuantizeLinear" and len(n.input) == 3]:
        zero = numpy_helper.to_array(constants[node.input[2]])
        if zero.dtype != numpy.int8:
            continue
        name = node.output[0] + ".zero_u8"
        moved = (zero.astype(numpy.int16) + 128).astype(numpy.uint8)
        graph.initializer.append(numpy_helper.from_array(moved, name))
        for reader in readers[node.output[0]]:
            if reader.op_type != "DequantizeLinear":
                fail(f"{path}: {reader.name} reads stored integers")
            reader.input[2] = name
        node.input[2] = name
    onnx.checker.check_model(model)
    onnx.save(model, out)
    return out


class _Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8),
                ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filters", ctypes.POINTER(_Filter))]


def forbid_amx():
    """From now on the kernel refuses AMX to this process and its children.

    A process must ask for the tile registers: arch_prctl(ARCH_REQ_XCOMP_PERM, 18). A seccomp filter answers
    EPERM, so whoever checks (oneDNN, OpenVINO, MLAS do) takes its next best kernels, as on a CPU without AMX.
    Variables such as ONEDNN_MAX_CPU_ISA reach only the libraries that read them; MLAS reads none.
    """
    if platform.machine() != "x86_64":
        return
    arch_prctl, request, audit_x86_64, eperm = 158, 0x1023, 0xC000003E, 1
    load, equal, answer = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return
    steps = [(load, 0, 0, 4), (equal, 0, 5, audit_x86_64),     # seccomp_data.arch
             (load, 0, 0, 0), (equal, 0, 3, arch_prctl),       # .nr
             (load, 0, 0, 16), (equal, 0, 1, request),         # .args[0], low half
             (answer, 0, 0, 0x00050000 | eperm), (answer, 0, 0, 0x7FFF0000)]
    filters = (_Filter * len(steps))(*[_Filter(*step) for step in steps])
    program = _Program(len(steps), filters)
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_no_new_privs, pr_set_seccomp, mode_filter = 38, 22, 2
    if (libc.prctl(pr_set_no_new_privs, 1, 0, 0, 0) != 0 or
            libc.prctl(pr_set_seccomp, mode_filter, ctypes.byref(program), 0, 0) != 0):
        fail(f"the kernel takes no seccomp filter: {os.strerror(ctypes.get_errno())}", 5)
    if libc.syscall(arch_prctl, request, 18) == 0:
        fail("AMX was granted in spite of the filter", 6)


def machine(tandem):
    """CPU, cores, and the instruction set that Tandem's oneDNN dispatches to, as a dictionary."""
    name, flags = "unknown", []
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() == "flags":
                flags = value.split()
    doctor = subprocess.run([tandem, "doctor", "--json", "-"], stdout=subprocess.PIPE, check=True)
    told = {finding["what"]: finding["value"] for finding in json.loads(doctor.stdout)["findings"]}
    return {"cpu": name, "cores": os.cpu_count(), "kernel": platform.release(),
            "flags": [f for f in flags if f in ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16",
                                                "amx_int8", "asimddp", "i8mm")],
            "tandem": told["instructions"]}


def middle(values):
    """Median, smallest, largest."""
    return statistics.median(values), min(values), max(values)


def spread(values, digits=2):
    return "{:.{d}f} ({:.{d}f}..{:.{d}f})".format(*middle(values), d=digits)


def print_table(heads, rows):
    width = [max(len(str(row[i])) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, ["-" * w for w in width], *rows]:
        print("  ".join(str(cell).ljust(w) for cell, w in zip(row, width)).rstrip())
    print(flush=True)


def write_json(path, value):
    if path is None:
        return
    text = json.dumps(value, indent=1) + "\n"
    if path == "-":
        print(text)
        return
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)
