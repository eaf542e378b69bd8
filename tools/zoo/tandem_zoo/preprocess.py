# SPDX-License-Identifier: Apache-2.0
"""The preprocessing that travels with a model: metadata_props key "tandem.preprocess". Schema: README.md.

Standard library only. The order is always: pixels 0..255 -> resize -> crop -> (x - mean) / std per channel,
in the model's colour order.
"""
import json

from .errors import USAGE, ZooError

KEY = "tandem.preprocess"
LABELS_KEY = "tandem.labels"

_IMAGENET_MEAN = [123.675, 116.28, 103.53]  # 255 * (.485, .456, .406)
_IMAGENET_STD = [58.395, 57.12, 57.375]  # 255 * (.229, .224, .225)
CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def make(size, short_side, mean, std, filter="bicubic", color="rgb", rule="short_side", crop="center"):
    """The schema's dictionary. size: a number or [h, w]; mean and std: a number or one per channel."""
    channels = 1 if color == "gray" else 3
    spread = lambda v: list(v) if isinstance(v, (list, tuple)) else [v] * channels  # noqa: E731
    resize = {"rule": rule}
    if rule == "short_side":
        resize["short_side"] = short_side
    resize.update({"filter": filter, "antialias": True})
    return {"layout": "nchw", "color": color, "size": list(size) if isinstance(size, list) else [size, size],
            "resize": resize, "crop": crop, "mean": spread(mean), "std": spread(std), "range": [0, 255]}


def lite(size):
    """EfficientNet-Lite's recipe: 32 pixels of border, (x - 127) / 128."""
    return make(size, size + 32, 127, 128)


def torchvision(size):
    """torchvision's first ImageNet weights: short side 8/7 of the crop, bilinear."""
    return make(size, round(size * 256 / 224), _IMAGENET_MEAN, _IMAGENET_STD, "bilinear")


def timm(size, mean, std):
    """timm's recipe at crop_pct 0.9, bicubic."""
    return make(size, int(size / 0.9), mean, std)


def mobilevit(size):
    return timm(size, 0, 255)


def fastvit(size):
    return timm(size, _IMAGENET_MEAN, _IMAGENET_STD)


def tiny(size):
    """MLPerf Tiny's ResNet-8: pixels as they are."""
    return make(size, size, 0, 1, "bilinear")


# Preset name -> (preprocessing, class names or None), for `zoo annotate`.
_TF_HALF = make(224, 256, 127.5, 127.5)
PRESETS = {
    "imagenet": (torchvision(224), None),
    "imagenet_bicubic": (make(224, 256, _IMAGENET_MEAN, _IMAGENET_STD), None),
    "half": (_TF_HALF, None),
    "unit": (make(224, 256, 0, 255), None),
    "efficientnet_lite0": (lite(224), None),
    "efficientnet_lite1": (lite(240), None),
    "efficientnet_lite2": (lite(260), None),
    "efficientnet_lite4": (lite(300), None),
    "mobilevit_s": (mobilevit(256), None),
    "fastvit_sa12": (fastvit(256), None),
    "squeezenet1_0": (make(227, 256, [104, 117, 123], 1, color="bgr"), None),
    "mobilenet_v2_float": (make(224, 256, 128, 128), None),
    "mobilenet_v2_qdq": (make(224, 256, 128, 128), None),
    "tf2_mobilenet_v2_ptq_qdq": (make(224, 256, 127, 127.5), None),
    "resnet8": (tiny(32), CIFAR10),
    "resnet20_cifar10": (make(32, 32, _IMAGENET_MEAN, _IMAGENET_STD), CIFAR10),
    "vww": (make(96, 96, 0, 255, "bilinear"), ["no person", "person"]),
    "ppocr_cls": (make([48, 192], None, 127.5, 127.5, "bilinear", "bgr", "exact", "none"), ["0", "180"]),
}
PRESETS.update({name: PRESETS["resnet8"] for name in ("resnet8_float", "resnet8_qdq")})
PRESETS.update({name: PRESETS["vww"] for name in ("vww_float", "vww_qdq")})
PRESETS.update({name: PRESETS["imagenet"] for name in (
    "resnet18", "resnet50", "vgg16", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large")})

_CHOICES = {"layout": ("nchw", "nhwc"), "color": ("rgb", "bgr", "gray"), "crop": ("center", "none")}
_SEE = "see tools/zoo/README.md"
_KEYS = {"layout", "color", "size", "resize", "crop", "mean", "std", "range"}


def _is_number(value):
    # NaN and infinity compare false with the bounds.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e9 <= value <= 1e9


def _numbers(value, count):
    return isinstance(value, list) and len(value) == count and all(_is_number(v) for v in value)


def _side(value):
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65536


def _resize_problem(resize):
    if not isinstance(resize, dict) or resize.get("rule") not in ("short_side", "exact", "none"):
        return "resize.rule must be short_side, exact or none"
    rule = resize["rule"]
    allowed = {"rule"} | (set() if rule == "none" else {"filter", "antialias"})
    if rule == "short_side":
        allowed.add("short_side")
        if not _side(resize.get("short_side")):
            return "resize.short_side must be a whole number of pixels"
    if rule != "none" and resize.get("filter") not in ("bicubic", "bilinear"):
        return "resize.filter must be bicubic or bilinear"
    if rule != "none" and not isinstance(resize.get("antialias"), bool):
        return "resize.antialias must be true or false"
    # The values of rule none are not read, so they may stay.
    extra = set(resize) - allowed - {"filter", "antialias", "short_side"}
    return f"resize has the unknown key {sorted(extra)[0]}" if extra else ""


def problem(value):
    """What is wrong with a preprocessing dictionary, or "" if nothing is."""
    if not isinstance(value, dict):
        return "it is not a JSON object"
    for key in sorted(_KEYS - set(value)):
        return f"the key {key} is missing"
    for key in sorted(set(value) - _KEYS):
        return f"the key {key} is unknown"
    for key, choices in _CHOICES.items():
        if value[key] not in choices:
            return f"{key} must be one of {', '.join(choices)}"
    size = value["size"]
    if not isinstance(size, list) or len(size) != 2 or not all(_side(s) for s in size):
        return "size must be [height, width]"
    resize = _resize_problem(value["resize"])
    if resize:
        return resize
    channels = 1 if value["color"] == "gray" else 3
    for key in ("mean", "std"):
        if not _numbers(value[key], channels):
            return f"{key} must be a list of {channels} number(s)"
    if any(s <= 0 for s in value["std"]):
        return "std must be above 0"
    if not _numbers(value["range"], 2) or value["range"][0] >= value["range"][1]:
        return "range must be [low, high]"
    if value["resize"]["rule"] == "short_side" and value["crop"] == "center" \
            and value["resize"]["short_side"] < min(size):
        return "resize.short_side is smaller than the crop"
    return ""


def parse(text):
    """A checked dictionary from JSON text; raises ZooError (usage)."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ZooError("the preprocessing is not JSON", str(error), _SEE, USAGE) from error
    wrong = problem(value)
    if wrong:
        raise ZooError("the preprocessing does not follow the schema", wrong, _SEE, USAGE)
    return value


def dump(value):
    """The compact text that is stored."""
    assert not problem(value), problem(value)
    return json.dumps(value, separators=(",", ":"))
