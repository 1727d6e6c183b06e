"""The Python of README.md and docs/*.md runs as it stands."""

import linecache
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def blocks():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, text in enumerate(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)):
            yield pytest.param(text, id=f"{path.name}-{number}")


def test_there_are_examples():
    assert len(list(blocks())) >= 2


@pytest.mark.parametrize("text", list(blocks()))
def test_example(text, capsys):
    name = f"<example {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), {"__name__": "example"})
    assert capsys.readouterr().out
