# SPDX-License-Identifier: Apache-2.0
"""The program on a real network and real photos, where they lie beside the checkout; skips (exit code 77) otherwise.

Goal: what the README promises. Method: quantize EfficientNet-Lite0 on 64 photos, then ask for accuracy, agreement,
differences, speed and the time to the first answer.

usage: e2e.py TANDEM"""

import json
import os
import subprocess
import sys
import tempfile
import time

SHARED = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared"))
MODEL = os.path.join(SHARED, "models", "efficientnet_lite0.onnx")
PHOTOS = os.path.join(SHARED, "images", "imagenet_sample_1000")
FLAGS = ["--size", "224", "--resize-short", "256", "--crop", "center", "--mean", "127", "--std", "128"]


def tandem(program, *arguments, expect=0):
    done = subprocess.run([program, *arguments, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != expect:
        raise SystemExit("tandem %s: exit %d, expected %d\n%s" % (" ".join(arguments), done.returncode, expect,
                                                                  done.stderr.decode()))
    return done.stdout.decode()


def check(what, good, value):
    print("%-50s %s  %s" % (what, "ok" if good else "FAILED", value))
    return good


def main():
    program = os.path.abspath(sys.argv[1])
    if not os.path.exists(MODEL) or not os.path.isdir(PHOTOS):
        print("needs shared/models and shared/images, which are not beside this checkout")
        return 77
    photos = sorted(p for p in os.listdir(PHOTOS) if p.endswith(".jpg"))
    good = True
    with tempfile.TemporaryDirectory(prefix="tandem-e2e-") as folder:
        os.chdir(folder)
        with open("list.csv", "w", encoding="utf-8") as file:
            file.write("path,label\n")
            # Every 5th photo; classes are called by number.
            file.writelines("%s,%d\n" % (os.path.join(PHOTOS, p), i) for i, p in enumerate(photos) if i % 5 == 0)
        data = ["--data", "list.csv", "--allow-absolute-paths"]
        tandem(program, "quantize", MODEL, "--calib", PHOTOS, "--calib-images", "64", "-o", "int8.onnx", *FLAGS)
        result = json.loads(tandem(program, "eval", "int8.onnx", "--against", MODEL, *data, *FLAGS, "--json", "-"))
        good &= check("FP32 top-1 on 200 photos", result["against"]["top1"] >= 0.80, result["against"]["top1"])
        good &= check("INT8 top-1 on 200 photos", result["top1"] >= 0.78, result["top1"])
        agreement = result["agreeing"] / result["images"]
        good &= check("INT8 and FP32 agree", agreement >= 0.93, agreement)
        verified = json.loads(tandem(program, "verify", MODEL, "int8.onnx", "--data", PHOTOS, "--inputs", "2", *FLAGS,
                                     "--json", "-"))
        last = verified["values"][-1]
        good &= check("logits of INT8 against FP32, cosine", last["cosine"] >= 0.97, last["cosine"])
        photo = os.path.join(PHOTOS, photos[0])
        tandem(program, "run", "int8.onnx", photo)
        seconds = []
        for _ in range(3):
            start = time.monotonic()
            answer = tandem(program, "run", "int8.onnx", photo, "--top", "1")
            seconds.append(time.monotonic() - start)
        good &= check("first answer within a second, warm", min(seconds) < 1, "%.2f s" % min(seconds))
        good &= check("the answer is class 0", "#0 " in answer, answer.split("\n")[2] if answer else "")
        rows = json.loads(tandem(program, "bench", "int8.onnx", "--batch", "1,4", "--threads", "1", "--seconds", "1",
                                 "--json", "-"))["rows"]
        good &= check("bench has its rows", len(rows) == 2, ["%.1f/s" % r["samples_per_s"] for r in rows])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
