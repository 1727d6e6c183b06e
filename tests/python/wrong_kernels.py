"""Wrong kernels: each is a function that raises at the line marked with `# here`, with the message given."""

import inspect

import pytest

import tilewright

_CASES = []


def wrong(message, hint=None, kind="invalid_kernel", note=None):
    """Registers a function whose call must raise this error. `note` stands in one of its notes."""

    def register(function):
        _CASES.append((function, message, hint, kind, note))
        return function

    return register


def cases(module):
    """Those of one file, for pytest."""
    return [pytest.param(*case, id=case[0].__name__) for case in _CASES if case[0].__module__ == module]


def marked_line(function):
    lines, first = inspect.getsourcelines(function)
    marked = [first + k for k, line in enumerate(lines) if line.rstrip().endswith("# here")]
    return marked[0] if marked else None


def check(function, message, hint, kind, note):
    with pytest.raises(tilewright.Error) as caught:
        function()
    error = caught.value
    assert error.message == message
    assert error.kind == kind
    if hint is not None:
        assert error.hint == hint
    if note is not None:
        assert any(note in text for text, _ in error.notes), error.notes
    line = marked_line(function)
    if line is not None:
        assert error.loc is not None and (error.loc.file, error.loc.line) == (function.__code__.co_filename, line)
        assert f":{line}" in str(error)
