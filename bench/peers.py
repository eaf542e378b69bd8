#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Races Tandem against OpenVINO and ONNX Runtime on the same networks, one thread each, in one run.

Engines take turns (A B C A B C ...), because a shared machine has slow phases: only figures of the same
round compare. A ratio is the median over the rounds of Tandem's rate by the peer's, with the smallest and
largest beside it; behind the bar the ratio of the best rounds, which were disturbed least. INT8 is one QDQ
file made by `tandem quantize`, read by all; FP32 is the file it came from.
"""
import argparse
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import common  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    many = {"type": lambda text: text.split(",")}
    parser.add_argument("--nets", default=list(common.NETS), metavar="A,B", help="of tools/zoo", **many)
    parser.add_argument("--precisions", default=["int8", "fp32"], metavar="int8,fp32", **many)
    parser.add_argument("--batches", default=[1, 4], metavar="1,4",
                        type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("--engines", default=["tandem", "openvino", "onnxruntime"], metavar="A,B", **many)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6, help="per engine and round")
    parser.add_argument("--isa", choices=["all", "no-amx"], default="all",
                        help="no-amx: the kernel refuses AMX to every engine, as on a CPU that stops at VNNI")
    parser.add_argument("--layers", action="store_true", help="no race: time per layer and engine, batch 1")
    parser.add_argument("--tandem", metavar="PROGRAM", help="another build than build/release/bin/tandem")
    parser.add_argument("--prepare", action="store_true", help="only make the models and the environment")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


class Tandem:
    """`tandem bench` anew in every round; loading and compiling are outside its figure."""
    name = "tandem"

    def __init__(self, path, precision, batch, program):
        self.command = [program, "bench", path, "--batch", str(batch), "--threads", "1", "-q", "--json", "-",
                        "--device", "int8" if precision == "int8" else "host", "--seconds"]

    def run(self, seconds):
        done = subprocess.run([*self.command, str(seconds)], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["rows"][0]["p50_ns"]

    def layers(self):
        done = subprocess.run([*self.command, "0.4", "--layers"], stdout=subprocess.PIPE, check=True)
        return [(n["ns"] / n["calls"] / 1e3, n["node"], f"{n['op']}: {n['implementation']}")
                for n in json.loads(done.stdout)["layers"] if n["calls"]]

    def kernels(self):
        return ""


class Peer:
    """A network loaded once; call() runs one batch. Inputs and outputs stay where they are."""

    def run(self, seconds):
        self.call()
        times = []
        end = time.perf_counter_ns() + int(seconds * 1e9)
        while not times or time.perf_counter_ns() < end:
            start = time.perf_counter_ns()
            self.call()
            times.append(time.perf_counter_ns() - start)
        return sorted(times)[len(times) // 2]


def random_input(shape, batch):
    import numpy
    fixed = [batch] + [int(d) for d in shape[1:]]
    return numpy.random.default_rng(42).normal(size=fixed).astype(numpy.float32)


class OpenVino(Peer):
    name = "openvino"

    def __init__(self, path, precision, batch, _program, profile=False):
        import openvino
        core = openvino.Core()
        model = core.read_model(path)
        shape = model.inputs[0].partial_shape
        data = random_input([batch] + [d.get_length() for d in list(shape)[1:]], batch)
        model.reshape(list(data.shape))
        self.compiled = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "PERF_COUNT": profile})
        self.request = self.compiled.create_infer_request()
        self.tensor = openvino.Tensor(data)
        self.request.set_input_tensor(self.tensor)

    def call(self):
        self.request.start_async()
        self.request.wait()

    def kernels(self):
        kinds = set()
        for node in self.compiled.get_runtime_model().get_ops():
            kind = node.get_rt_info()
            kinds.add(str(kind["primitiveType"].astype(str)) if "primitiveType" in kind else "")
        return " ".join(sorted(k for k in kinds if "amx" in k or "vnni" in k))

    def layers(self):
        self.run(0.4)
        return [(p.real_time.total_seconds() * 1e6, p.node_name, f"{p.node_type}: {p.exec_type}")
                for p in self.request.get_profiling_info() if p.real_time.total_seconds() > 0]


class OnnxRuntime(Peer):
    """INT8: the better of the file itself and of common.u8_model(), by a short trial."""
    name = "onnxruntime"

    def __init__(self, path, precision, batch, _program, profile=False):
        self.open(path, batch, profile)
        if precision != "int8":
            return
        mine = self.run(0.2)
        self.open(common.u8_model(path), batch, profile)
        if mine < self.run(0.2):
            self.open(path, batch, profile)

    def open(self, path, batch, profile):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_profiling = profile
        options.profile_file_prefix = os.path.join(common.BUILD, "onnxruntime")
        options.log_severity_level = 3
        self.path = path
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        source = self.session.get_inputs()[0]
        self.data = random_input([batch, *source.shape[1:]], batch)
        self.binding = self.session.io_binding()
        self.binding.bind_cpu_input(source.name, self.data)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def kernels(self):
        return os.path.basename(self.path)  # of its kernels it does not tell

    def layers(self):
        self.run(0.4)
        with open(self.session.end_profiling(), encoding="utf-8") as file:
            events = [e for e in json.load(file) if e.get("cat") == "Node" and "dur" in e]
        sums = {}
        for e in events:
            key = (e["name"].removesuffix("_kernel_time"), e["args"].get("op_name", ""))
            sums.setdefault(key, []).append(e["dur"])
        return [(sorted(d)[len(d) // 2], name, op) for (name, op), d in sums.items()]


ENGINES = {engine.name: engine for engine in (Tandem, OpenVino, OnnxRuntime)}


def race(path, precision, batch, options, program):
    """Per engine the images per second of every round."""
    engines = [ENGINES[name](path, precision, batch, program) for name in options.engines]
    for engine in engines:
        engine.run(min(options.seconds, 0.2))
    rates = {engine.name: [] for engine in engines}
    for _ in range(options.rounds):
        for engine in engines:
            rates[engine.name].append(batch / (engine.run(options.seconds) / 1e9))
    return rates, {e.name: e.kernels() for e in engines if e.kernels()}


def print_layers(net, precision, path, options, program):
    for name in options.engines:
        args = (path, precision, 1, program)
        engine = Tandem(*args) if name == "tandem" else ENGINES[name](*args, profile=True)
        layers = engine.layers()
        print(f"{net} {precision} {name}: {sum(us for us, _, _ in layers):.0f} us")
        common.print_table(["us", "node", "kernel"], [[f"{us:.1f}", node, how] for us, node, how in layers])


def main():
    options = parse()
    common.enter_venv()
    program = common.tandem_program(options.tandem)
    for name in options.engines:
        if name not in ENGINES:
            common.fail(f"no engine '{name}'; there are {', '.join(ENGINES)}", 2)
    models = {(net, p): common.int8_model(net, program) if p == "int8" else common.float_model(net)
              for net in options.nets for p in options.precisions}
    if options.prepare:
        return
    if options.isa == "no-amx":
        common.forbid_amx()
    machine = common.machine(program)
    print(f"{machine['cpu']}, {machine['cores']} cores, {' '.join(machine['flags'])}\n"
          f"Tandem: {machine['tandem']}; {options.isa}; load {os.getloadavg()[0]:.2f}\n")
    cells = []
    for (net, precision), path in models.items():
        if options.layers:
            print_layers(net, precision, path, options, program)
            continue
        for batch in options.batches:
            rates, kernels = race(path, precision, batch, options, program)
            cells.append({"net": net, "precision": precision, "batch": batch, "images_per_s": rates,
                          "kernels": kernels})
    if options.layers:
        return
    rows = []
    for cell in cells:
        rates = cell["images_per_s"]
        cell["ratio"] = {peer: [a / b for a, b in zip(rates["tandem"], rates[peer])]
                         for peer in rates if peer != "tandem" and "tandem" in rates}
        row = [cell["net"], cell["precision"], cell["batch"]]
        row += ["{:.1f} [{:.1f}]".format(common.middle(r)[0], max(r)) for r in rates.values()]
        row += [f"{common.spread(r)} | {max(rates['tandem']) / max(rates[peer]):.2f}"
                for peer, r in cell["ratio"].items()]
        rows.append(row)
    peers = [e for e in options.engines if e != "tandem"] if "tandem" in options.engines else []
    common.print_table(["net", "type", "B", *[f"{e}/s [best]" for e in options.engines],
                        *[f"tandem/{p}" for p in peers]], rows)
    common.write_json(options.json, {"machine": machine, "isa": options.isa, "rounds": options.rounds,
                                     "seconds": options.seconds, "cells": cells})


if __name__ == "__main__":
    main()
