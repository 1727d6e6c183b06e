"""Errors: one class for everything that a user can do wrong, printed as the C++ library prints it."""

from __future__ import annotations

from typing import NamedTuple, NoReturn, Optional

from . import _core


class Loc(NamedTuple):
    """A place in an author's source. A column of 0 means the whole line."""

    file: str
    line: int
    column: int = 0


class Note(NamedTuple):
    text: str
    loc: Optional[Loc]


class Error(Exception):
    """A rule that was broken: ``kind``, ``message`` with the values, ``loc``, ``notes`` and ``hint``.

    ``str(error)`` is the whole report. ``kind`` is one of ``invalid_kernel``, ``invalid_argument``, ``unsupported``,
    ``toolchain`` and ``internal`` (docs/errors.md).
    """

    def __init__(self, kind, message, loc=None, notes=(), hint="", text=None):
        super().__init__(text if text is not None else message)
        self.kind = kind
        self.message = message
        self.loc = loc
        self.notes = list(notes)
        self.hint = hint


class InvalidKernelError(Error, ValueError):
    """A program without meaning."""


class InvalidArgumentError(Error, ValueError):
    """A host call with arguments that do not fit."""


class UnsupportedError(Error, NotImplementedError):
    """Meaningful, but not built yet or not possible on the device."""


class ToolchainError(Error, RuntimeError):
    """A compiler, driver or file system problem outside the program."""


class InternalError(Error, RuntimeError):
    """A defect of Tilewright."""


_CLASSES = {
    "invalid_kernel": InvalidKernelError,
    "invalid_argument": InvalidArgumentError,
    "unsupported": UnsupportedError,
    "toolchain": ToolchainError,
    "internal": InternalError,
}


def _make(kind, message, place, notes, hint, text):
    loc = Loc(*place) if place else None
    listed = [Note(note, Loc(*at) if at else None) for note, at in notes]
    return _CLASSES.get(kind, InternalError)(kind, message, loc, listed, hint, text)


_core.set_exception_factory(_make)


def fail(message: str, hint: str = "", kind: str = "invalid_kernel", place=None, notes=()) -> NoReturn:
    """Raises an Error at the author's line, or at ``place``."""
    _core.raise_error(kind, message, hint, tuple(place) if place else None, list(notes))
    raise AssertionError("not reached")


def unsupported(message: str, hint: str = "docs/status.md lists what is not built yet", place=None) -> NoReturn:
    fail(message, hint, kind="unsupported", place=place)


def invalid_argument(message: str, hint: str = "") -> NoReturn:
    fail(message, hint, kind="invalid_argument")
