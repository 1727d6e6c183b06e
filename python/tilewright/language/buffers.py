"""Tensors, tiles and scalar variables, and how authors declare the tensors of a function."""

from __future__ import annotations

from .. import _core
from ..dtypes import core_name, dtype as make_dtype, from_core, is_dtype
from ..error import fail, unsupported
from . import state
from .symbols import Symbol


def view(tile, shape, dtype, word="view"):
    """Another name for a tile or tensor, by another shape, dtype or both."""
    state.require(f"T.{word}")
    if not isinstance(tile, Buffer):
        fail(f"T.{word} of something that is no tile", "views are of whole tiles and tensors")
    extents = None if shape is None else _extents(shape)
    handle = _core.view(tile, extents, None if dtype is None else core_name(dtype), word)
    made = tile.shape if extents is None else extents
    if not any(isinstance(extent, Symbol) for extent in made):
        made = _core.shape_of(_core.Tile(handle))
    return Buffer(handle, f"{tile.name}_view", made, dtype or tile.dtype, tile.scope())


def _is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


class Buffer(_core.Tile):
    """A tensor or an on-chip tile. ``A[i, j]`` is an element, ``A[0:4, :]`` a part."""

    def __init__(self, handle, name, shape, dtype, scope, strides=None):
        super().__init__(handle)
        self.name = name
        self.shape = tuple(shape)
        self.dtype = make_dtype(dtype)
        self._scope = scope
        self._strides = strides

    def scope(self):
        return self._scope

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def data(self):
        return Data(self)

    @property
    def strides(self):
        if self._strides:
            return tuple(self._strides)
        out, step = [], 1
        for extent in reversed(self.shape):
            out.append(step)
            step = extent * step
        return tuple(reversed(out))

    def __len__(self):
        if not self.shape or not _is_number(self.shape[0]):
            fail(f"{self.name} has no length that Python can know", "use A.shape")
        return self.shape[0]

    def __iter__(self):
        fail(f"Python iterates over {self.name}", "loop over indices: for i in T.serial(n)")

    def __repr__(self):
        extents = ", ".join(str(e) for e in self.shape)
        return f"{self.name} {self._scope} {self.dtype}[{extents}]"

    def __bool__(self):
        fail(f"{self.name} is used as a condition", "compare an element of it with 0, or use T.any_of")

    def __getitem__(self, index):
        return Element(self, _subscripts(self, index))

    def __setitem__(self, index, value):
        target = Element(self, _subscripts(self, index))
        if isinstance(value, Element) and value.buffer is self and not value.is_element:
            fail(f"a part of {self.name} is assigned to another part of it", "copy it through another tile")
        if target.is_element:
            _core.store(target, value)
        elif isinstance(value, (_core.Tile, _core.Access)) and not _core.is_scalar(value):
            _core.copy(value, target)
        else:
            _core.fill(target, value)


class Element(_core.Access):
    """``A[i, j]`` or a part ``A[0:4, :]``; reads when it is used as a number."""

    def __init__(self, buffer, subscripts):
        super().__init__(buffer.id, subscripts)
        self.buffer = buffer
        self.indices = subscripts

    @property
    def dtype(self):
        return self.buffer.dtype

    def __repr__(self):
        return f"{self.buffer.name}[{', '.join(map(_subscript_text, self.indices))}]"


class Var(_core.Access):
    """A scalar that changes: ``v = v + 1`` stores. ``target`` is the element that it is, for references."""

    def __init__(self, buffer, subscripts=()):
        super().__init__(buffer.id, tuple(subscripts))
        self.buffer = buffer
        self.is_new = True  # no name is bound to it yet

    @property
    def dtype(self):
        return self.buffer.dtype

    @property
    def name(self):
        return self.buffer.name

    def scope(self):
        return "local.var"

    shape = (1,)

    def __getitem__(self, index):
        if index != 0 and index != (0,):
            fail(f"element {index} of the scalar variable {self.name}", "a variable has the element 0 only")
        return self

    def __setitem__(self, index, value):
        self[index]
        _core.store(self, value)

    def __repr__(self):
        return self.name


def _subscript_text(item):
    if item is Ellipsis:
        return ":"
    if isinstance(item, slice):
        return f"{item.start}:{item.stop}"
    return str(item)


def _from_end(index, extent):
    """A constant that counts from the end."""
    return extent + index if _is_number(index) and index < 0 else index


def _subscript(buffer, item, extent):
    if item is Ellipsis:
        return item
    if not isinstance(item, slice):
        return _from_end(item, extent)
    if item.step not in (None, 1):
        fail(f"a slice of {buffer.name} has step {item.step}", "slices are of neighbours; use a loop for strides")
    if item.start is None and item.stop is None:
        return Ellipsis
    start = 0 if item.start is None else _from_end(item.start, extent)
    stop = extent if item.stop is None else _from_end(item.stop, extent)
    return slice(start, stop)


def _subscripts(buffer, index):
    """The subscripts as ``_core.Access`` takes them."""
    items = list(index) if isinstance(index, tuple) else [index]
    if sum(item is Ellipsis for item in items) > 1:
        fail(f"{buffer.name} is indexed with more than one ...", "one ... stands for all dimensions that are not named")
    at = next((k for k, item in enumerate(items) if item is Ellipsis), None)
    if at is not None:
        missing = len(buffer.shape) - (len(items) - 1)
        items[at : at + 1] = [slice(None)] * max(missing, 0)
    if len(items) != len(buffer.shape):
        fail(
            f"{buffer.name} has {len(buffer.shape)} dimensions but {len(items)} indices are given",
            "give one index or slice per dimension; ... stands for all that are not named",
            notes=[(repr(buffer), None)],
        )
    return tuple(_subscript(buffer, item, extent) for item, extent in zip(items, buffer.shape))


def _dtype_of_number(number):
    return from_core(_core.to_expr(number).dtype_name)


def _astype(number, dtype):
    return _core.cast(number, core_name(dtype))


_core.Expr.dtype = property(_dtype_of_number)
_core.Expr.astype = _core.Access.astype = _astype


class Data:
    """``A.data``: the memory of a tensor or tile, for another name of it by ``T.Tensor(shape, dtype, A.data)``."""

    def __init__(self, buffer):
        self.buffer = buffer


class TensorType:
    """What a parameter is annotated with: shape, element type, strides."""

    def __init__(self, shape, dtype="float32", strides=None, scope="global"):
        self.shape = _extents(shape)
        self.dtype = make_dtype(dtype)
        self.strides = None if strides is None else _extents(strides)
        self.scope = scope

    def __repr__(self):
        return f"T.Tensor({self.shape}, {self.dtype})"

    def declare(self, name):
        """Adds the tensor to the open program."""
        trace = state.require("T.Tensor")
        if self.scope != "global":
            fail(f"the parameter {name} of a kernel function is a tile in {self.scope} memory", "pass a T.Tensor")
        own_name = trace.name_for(name)
        handle = _core.add_tensor(own_name, self.shape, core_name(self.dtype), self.strides or (), 0.0)
        return Buffer(handle, own_name, self.shape, self.dtype, "global", self.strides)


def _extents(shape):
    if isinstance(shape, (tuple, list)):
        return tuple(shape)
    return (shape,)


def _split_index(item):
    """Shape and element type of ``T.Tensor[[m, n], "float16"]`` and ``T.Tensor[m, n, "float16"]``."""
    parts = list(item) if isinstance(item, tuple) else [item]
    dtype = "float32"
    if len(parts) > 1 and is_dtype(parts[-1]):
        dtype = parts.pop()
    if len(parts) == 1 and isinstance(parts[0], (list, tuple)):
        parts = list(parts[0])
    return tuple(parts), dtype


class _TensorWord:
    """``T.Tensor(shape, dtype)`` and ``T.Tensor[shape, dtype]``."""

    def __init__(self, scope):
        self._scope = scope

    def __call__(self, shape=None, dtype="float32", data=None, strides=None, scope=None, **_):
        if isinstance(data, Data) and strides is None:
            return view(data.buffer, shape, dtype)
        if data is not None:
            unsupported("T.Tensor with data: only that of another tensor, A.data, and without strides")
        if shape is None:
            fail("T.Tensor without a shape", "T.Tensor((m, n), dtype)")
        if dtype == "handle":
            unsupported("a tensor of pointers is not built yet")
        return TensorType(shape, dtype, strides, scope or self._scope)

    def __getitem__(self, item):
        shape, dtype = _split_index(item)
        return TensorType(shape, dtype, None, self._scope)


class _StridedTensorWord:
    """``T.StridedTensor(shape, strides, dtype)``."""

    def __call__(self, shape, strides, dtype="float32", **_):
        return TensorType(shape, dtype, strides)

    def __getitem__(self, item):
        parts = list(item)
        dtype = parts.pop() if is_dtype(parts[-1]) else "float32"
        return TensorType(parts[0], dtype, parts[1])


Tensor = _TensorWord("global")
Buffer_ = Tensor  # T.Buffer
StridedTensor = _StridedTensorWord()
SharedBuffer = _TensorWord("shared")
FragmentBuffer = _TensorWord("fragment")
LocalBuffer = _TensorWord("local")


class Ref:
    """An annotation of a macro's parameter: the author's element or variable itself, not its value."""
