#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person waits for and how much memory it takes: the program itself on EfficientNet-Lite0.

start     `tandem run` on one photo, from exec to exit, files in the page cache
adapt     `tandem adapt` on a folder of photos, decoding included, against a peer that computes the frozen
          backbone anew for every sample and epoch (--peer-ms each)
memory    `tandem adapt` on parts of Fashion-MNIST: peak anonymous memory, and whether time grows evenly
"""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import common  # noqa: E402


def write_photo(path, width=640, height=480):
    """A BMP of coloured noise on a gradient."""
    noise = random.Random(1)
    rows = b"".join(bytes((x + y + noise.randrange(40)) % 256 for x in range(width) for _ in range(3))
                    for y in range(height))
    with open(path, "wb") as file:
        file.write(struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(rows), 0, 0, 54, 40, width, height, 1, 24,
                               0, len(rows), 2835, 2835, 0, 0) + rows)


def run(command):
    """Seconds and peak anonymous memory in bytes (sampled; file-backed pages are not in it)."""
    start = time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                    for line in file:
                        if line.startswith("RssAnon:"):
                            peak = max(peak, int(line.split()[1]) * 1024)
            except OSError:
                pass
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        errors = process.stderr.read().decode(errors="replace")
    if process.returncode != 0:
        common.fail(f"{' '.join(command)} ended with {process.returncode}:\n{errors}", 1)
    return seconds, peak


def start(options, tandem, scratch):
    photo = os.path.join(scratch, "photo.bmp")
    write_photo(photo)
    rows = []
    for name, model in [("FP32", common.float_model("efficientnet_lite0")),
                        ("INT8", common.int8_model("efficientnet_lite0", tandem))]:
        command = [tandem, "run", model, "--data", photo, "-q"]
        run(command)
        times = [run(command)[0] for _ in range(options.rounds)]
        rows.append([name, common.spread([t * 1000 for t in times], 0)])
    common.print_table(["start", "ms, median (least..most)"], rows)
    return {row[0]: row[1] for row in rows}


def adapt_command(tandem, data, out, epochs, *more):
    return [tandem, "adapt", common.float_model("efficientnet_lite0"), "--data", data, "--no-compare-fp32",
            "--epochs", str(epochs), "-o", out, "-q", *more]


def adapt(options, tandem, scratch):
    if options.data is None:
        common.fail("adapt wants --data FOLDER with class folders (train/ and val/)", 2)
    results = []
    for round_ in range(options.rounds):
        out = os.path.join(scratch, f"run{round_}")
        seconds, peak = run(adapt_command(tandem, options.data, out, options.epochs))
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        peer = summary["train_count"] * options.epochs * options.peer_ms / 1000
        results.append({"seconds": seconds, "ratio": peer / seconds, "peak_anonymous_bytes": peak,
                        "train_count": summary["train_count"], "accuracy_int8": summary["accuracy_int8"]})
        shutil.rmtree(out)
    common.print_table(
        ["training images", "epochs", "seconds", f"ratio to {options.peer_ms} ms per sample", "peak anonymous",
         "accuracy"],
        [[r["train_count"], options.epochs, f"{r['seconds']:.2f}", f"{r['ratio']:.1f}",
          f"{r['peak_anonymous_bytes'] / 2**20:.0f} MiB", r["accuracy_int8"]] for r in results])
    return results


def memory(options, tandem, scratch):
    data = options.data or common.FASHION
    results = []
    for images in options.images:
        out = os.path.join(scratch, f"run{images}")
        seconds, peak = run(adapt_command(tandem, data, out, options.epochs, "--train-limit", str(images),
                                          "--val-limit", "1000"))
        results.append({"images": images, "seconds": seconds, "peak_anonymous_bytes": peak})
        shutil.rmtree(out)
    first, last = results[0], results[-1]
    slope = (last["seconds"] - first["seconds"]) / max(last["images"] - first["images"], 1)
    rows = []
    for r in results:
        line = first["seconds"] + slope * (r["images"] - first["images"])
        rows.append([r["images"], f"{r['seconds']:.1f}", f"{r['seconds'] / line:.2f}",
                     f"{r['peak_anonymous_bytes'] / 2**20:.0f} MiB"])
    common.print_table(["images", "seconds", "of the straight line", "peak anonymous"], rows)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "adapt", "memory"])
    parser.add_argument("--data", metavar="PATH", help="adapt: photos; memory: other data than Fashion-MNIST")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=lambda text: [int(t) for t in text.split(",")], metavar="N,N",
                        default=[7500, 15000, 30000, 60000], help="memory: sizes of the training set")
    parser.add_argument("--peer-ms", type=float, default=18.1,
                        help="adapt: ONNX Runtime Training 1.19.2, this network, two Emerald Rapids cores")
    parser.add_argument("--tandem", metavar="PROGRAM", help="another build than build/release/bin/tandem")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    tandem = common.tandem_program(options.tandem)
    machine = common.machine(tandem)
    print(f"{machine['cpu']}, {machine['cores']} cores; Tandem: {machine['tandem']}; "
          f"load {os.getloadavg()[0]:.2f}\n")
    with tempfile.TemporaryDirectory(prefix="tandem-bench-", dir=os.environ.get("TMPDIR")) as scratch:
        result = {"start": start, "adapt": adapt, "memory": memory}[options.what](options, tandem, scratch)
    common.write_json(options.json, {"machine": machine, "what": options.what, "result": result})


if __name__ == "__main__":
    main()
