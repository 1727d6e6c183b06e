"""``python -m tilewright.compat script.py ARGUMENTS``."""

from __future__ import annotations

import os
import runpy
import sys

from . import install


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m tilewright.compat SCRIPT [ARGUMENTS]\n\n"
              "Runs a script that imports tilelang; -m MODULE runs a module, such as pytest.")
        return 0 if arguments else 2
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
