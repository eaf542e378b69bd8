# SPDX-License-Identifier: Apache-2.0
"""A pickle reader that knows only what a torch state dict is made of, and can execute nothing.

It is not Python's Unpickler with a filter but an interpreter of its own for the few opcodes that
torch.save writes. A global never becomes a Python object: it stays a name, and REDUCE accepts the names in
_REBUILDERS and nothing else. Any other opcode or name ends with an error that says which.
Opcode semantics: the standard library's pickletools, which also splits the bytes into opcodes.
"""
import collections
import pickletools

from .errors import ZooError

_MEMO_LIMIT = 1 << 22  # a state dict of 100,000 tensors needs about a million entries
_TEXT_LIMIT = 1 << 20  # names are short

# torch storage class -> numpy dtype name ("bfloat16" is widened by hand, see torch_file.py).
STORAGE_DTYPES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32",
    "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
}


class Storage(collections.namedtuple("Storage", "key dtype numel")):
    """Names a run of numbers in the file: its key, dtype name and length in elements."""


class TensorRef(collections.namedtuple("TensorRef", "storage offset shape strides")):
    """A strided view of a storage (offset and strides in elements), not yet read."""


class _Global(collections.namedtuple("_Global", "module name")):
    def __str__(self):
        return f"{self.module}.{self.name}"


class _Bounded:
    """The stream as pickletools reads it, with a bound on what one opcode may ask for."""

    def __init__(self, stream):
        self._stream, self.tell = stream, stream.tell

    def read(self, count):
        if count > _TEXT_LIMIT:
            raise ValueError(f"one item of {count} bytes")
        return self._stream.read(count)

    def readline(self):
        return self._stream.readline(_TEXT_LIMIT)


class _Mark:
    """The one object that the MARK opcode pushes."""


_MARK = _Mark()


def _bad(because):
    return ZooError("this pickle is not a plain torch state dict", because=because,
                    hint="save it again with torch.save(model.state_dict(), FILE) or as .safetensors")


def _rebuild_tensor_v2(arguments):
    if len(arguments) < 4:
        raise _bad("a tensor has fewer than 4 parts")
    storage, offset, shape, strides = arguments[:4]
    whole = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    numbers = [offset, *shape, *strides] if whole else []
    if not isinstance(storage, Storage) or not whole:
        raise _bad("a tensor does not name its storage, shape and strides")
    if any(type(n) is not int or n < 0 for n in numbers):
        raise _bad("a tensor's offset, shape and strides are not whole numbers >= 0")
    return TensorRef(storage, offset, shape, strides)


def _rebuild_parameter(arguments):
    if not arguments or not isinstance(arguments[0], TensorRef):
        raise _bad("a parameter holds no tensor")
    return arguments[0]


def _ordered_dict(arguments):
    if arguments:
        raise _bad("OrderedDict is called with arguments")
    return collections.OrderedDict()


_REBUILDERS = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor_v2,  # the same first four arguments
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("collections", "OrderedDict"): _ordered_dict,
}


def _persistent(identity):
    """A storage: ('storage', class, key, place, length[, view])."""
    if not isinstance(identity, tuple) or len(identity) < 5 or identity[0] != "storage":
        raise _bad("a persistent object is not a storage")
    kind, key, numel = identity[1], identity[2], identity[4]
    if not isinstance(kind, _Global) or kind.module != "torch" or kind.name not in STORAGE_DTYPES:
        raise _bad(f"a storage has the unknown type {kind}")
    if not isinstance(key, str) or type(numel) is not int or numel < 0:
        raise _bad("a storage has no key or no length")
    if len(identity) > 5 and identity[5] is not None:
        raise _bad("a storage is a view of another one, as files of torch before 0.4 have it")
    return Storage(key, STORAGE_DTYPES[kind.name], numel)


class _Machine:
    """Stack and memo of one pickle."""

    def __init__(self):
        self.stack, self.memo = [], {}

    def pop(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise _bad("the pickle takes more from its stack than it put there")
        return self.stack.pop()

    def pop_to_mark(self):
        items = []
        while self.stack and self.stack[-1] is not _MARK:
            items.append(self.stack.pop())
        if not self.stack:
            raise _bad("the pickle closes a group that it did not open")
        self.stack.pop()
        items.reverse()
        return items

    def put(self, index):
        if index > _MEMO_LIMIT:
            raise _bad(f"memo index {index} is out of all proportion")
        if not self.stack or self.stack[-1] is _MARK:
            raise _bad("the pickle remembers an object that is not there")
        self.memo[index] = self.stack[-1]

    def get(self, index):
        if index not in self.memo:
            raise _bad(f"the pickle recalls object {index}, which it never kept")
        self.stack.append(self.memo[index])

    def tuple_of(self, count):
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(items)))

    def set_items(self, items):
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, dict) or len(items) % 2:
            raise _bad("keys and values are stored into something that is no dictionary")
        for key, value in zip(items[::2], items[1::2]):
            if not isinstance(key, (str, int)):
                raise _bad("a dictionary key is neither text nor a number")
            target[key] = value

    def append(self, items):
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, list):
            raise _bad("items are appended to something that is no list")
        target.extend(items)

    def reduce(self):
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, _Global) or tuple(function) not in _REBUILDERS:
            raise _bad(f"it calls {function}, which is not allowed")
        if not isinstance(arguments, tuple):
            raise _bad(f"it calls {function} without an argument tuple")
        self.stack.append(_REBUILDERS[tuple(function)](arguments))

    def build(self):
        # torch hangs `_metadata` onto its OrderedDict; weights need none of it, so it is dropped.
        self.pop()
        if not self.stack or not isinstance(self.stack[-1], collections.OrderedDict):
            raise _bad("it sets attributes on something that is no OrderedDict")

    def global_name(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            raise _bad("a global is not named by text")
        known = (module, name) in _REBUILDERS or (module == "torch" and name in STORAGE_DTYPES)
        if not known:
            raise _bad(f"it refers to {module}.{name}, which is not allowed")
        self.stack.append(_Global(module, name))


_PUSH = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_ACTIONS = {
    "MARK": lambda m, a: m.stack.append(_MARK),
    "EMPTY_DICT": lambda m, a: m.stack.append({}),
    "EMPTY_LIST": lambda m, a: m.stack.append([]),
    "TUPLE": lambda m, a: m.stack.append(tuple(m.pop_to_mark())),
    "SETITEM": lambda m, a: m.set_items([m.pop(), m.pop()][::-1]),
    "SETITEMS": lambda m, a: m.set_items(m.pop_to_mark()),
    "APPEND": lambda m, a: m.append([m.pop()]),
    "APPENDS": lambda m, a: m.append(m.pop_to_mark()),
    "BINPUT": lambda m, a: m.put(a),
    "LONG_BINPUT": lambda m, a: m.put(a),
    "MEMOIZE": lambda m, a: m.put(len(m.memo)),
    "BINGET": lambda m, a: m.get(a),
    "LONG_BINGET": lambda m, a: m.get(a),
    "GLOBAL": lambda m, a: m.global_name(*a.split(" ", 1)),
    "STACK_GLOBAL": lambda m, a: m.global_name(*[m.pop(), m.pop()][::-1]),
    "REDUCE": lambda m, a: m.reduce(),
    "BUILD": lambda m, a: m.build(),
    "BINPERSID": lambda m, a: m.stack.append(_persistent(m.pop())),
}


def load(stream):
    """Reads one pickle from the binary stream and leaves it behind the pickle's last byte.

    Returns dicts, lists, tuples, numbers, text and TensorRefs; raises ZooError for anything else.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(_Bounded(stream)):
            name = opcode.name
            if name in _PUSH:
                machine.stack.append(argument)
            elif name in _CONSTANTS:
                machine.stack.append(_CONSTANTS[name])
            elif name in _TUPLES:
                machine.tuple_of(_TUPLES[name])
            elif name in _ACTIONS:
                _ACTIONS[name](machine, argument)
            elif name == "STOP":
                return machine.pop()
            elif name not in ("PROTO", "FRAME"):
                raise _bad(f"it uses the opcode {name}")
    except (ValueError, TypeError, OverflowError, UnicodeError, IndexError) as error:
        raise _bad(f"it is damaged or cut off ({error})") from error
    raise _bad("it is cut off")
