#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of a linear head (forward, softmax cross-entropy, backward, AdamW) against torch eager.

Wants Debian's python3-torch; its best BLAS is libopenblas0-openmp, which is taken where it is installed.
Tandem's side is exec_bench (cmake --preset release -DTANDEM_BENCH=ON; ninja -C build/release exec_bench). Both
take turns; torch runs with its default and with foreach updates, on one thread and on all, and its fastest form
counts.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import common  # noqa: E402


def enter_torch():
    """Continues under an interpreter that has torch, with the BLAS that serves it best."""
    if os.environ.get("TANDEM_BENCH_TORCH") == "1":
        return
    environment = dict(os.environ, TANDEM_BENCH_TORCH="1")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if "avx512dq" in file.read():
            environment["OPENBLAS_CORETYPE"] = "SKYLAKEX"  # it does not know newer models by itself
    openblas = glob.glob("/usr/lib/*/openblas-openmp")
    if openblas:
        environment["LD_LIBRARY_PATH"] = openblas[0]
    else:
        common.say("no libopenblas0-openmp: torch runs on whatever libblas.so.3 is")
    os.execve("/usr/bin/python3", ["/usr/bin/python3", "-s", *sys.argv], environment)


def torch_step(batch, inputs, classes, foreach):
    import torch
    torch.manual_seed(1)
    layer = torch.nn.Linear(inputs, classes)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3, foreach=foreach)
    x = torch.randn(batch, inputs)
    labels = torch.arange(batch) % classes

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(layer(x), labels).backward()
        optimizer.step()
    return step


def seconds_of(step, seconds):
    step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def tandem_seconds(program, batch, inputs, classes, seconds):
    name = f"BM_HeadStep/adamw/{batch}x{inputs}x{classes}"
    done = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_format=json",
                           f"--benchmark_min_time={seconds}"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    runs = json.loads(done.stdout)["benchmarks"]
    if len(runs) != 1 or runs[0]["time_unit"] != "ns":
        common.fail(f"{program} has no {name}")
    return runs[0]["real_time"] * 1e-9


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="per engine and round")
    parser.add_argument("--program", help="Tandem's side",
                        default=os.path.join(common.ROOT, "build", "release", "bin", "exec_bench"))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if not os.access(options.program, os.X_OK):
        common.fail(f"there is no {options.program}; cmake --preset release -DTANDEM_BENCH=ON, "
                    "ninja -C build/release exec_bench", 7)
    enter_torch()
    try:
        import torch
    except ImportError:
        common.fail("there is no torch; apt-get install python3-torch libopenblas0-openmp", 7)
    inputs, classes = 1280, 10
    forms = [(foreach, threads) for foreach in (False, True) for threads in sorted({1, os.cpu_count()})]
    rows, cells = [], []
    for batch in (1, 16):
        mine, best, ratios = [], [], []
        for _ in range(options.rounds):
            mine.append(tandem_seconds(options.program, batch, inputs, classes, options.seconds))
            times = {}
            for foreach, threads in forms:
                torch.set_num_threads(threads)
                step = torch_step(batch, inputs, classes, foreach)
                times[foreach, threads] = seconds_of(step, options.seconds / 2)
            best.append(min(times.values()))
            ratios.append(best[-1] / mine[-1])
        cells.append({"batch": batch, "tandem_s": mine, "torch_s": best, "ratio": ratios})
        rows.append([batch, f"{common.middle(mine)[0] * 1e6:.1f}", f"{common.middle(best)[0] * 1e6:.1f}",
                     common.spread(ratios, 1)])
    print(f"Linear {inputs} to {classes}, AdamW; torch {torch.__version__}")
    common.print_table(["batch", "Tandem us", "torch us", "ratio"], rows)
    common.write_json(options.json, {"cells": cells, "torch": torch.__version__})


if __name__ == "__main__":
    main()
