"""Where mitmproxy's programs are, and what they load."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

_PACKAGE = Path(__file__).resolve().parents[1]


def script() -> Path:
    """The script for mitmproxy's `-s`.

    In a wheel it has a folder of its own: mitmproxy puts the script's folder first on
    `sys.path` and leaves it there (mitmproxy/addons/script.py), where this package's
    modules would be found under names that are not theirs.
    """
    installed = _PACKAGE / "script" / "normalize.py"
    return installed if installed.exists() else _PACKAGE.parent / "normalize.py"


SCRIPT = SimpleNamespace(__file__=str(script()))
"""What mitmproxy-addon-launcher looks up: it starts mitmproxy with that file."""


def program(name: str) -> Path:
    """Return mitmproxy's program *name*, that of this Python's mitmproxy if it has one.

    Args:
        name: `mitmdump`, `mitmweb` or `mitmproxy`.
    """
    user = sysconfig.get_preferred_scheme("user")  # `pip install --user`
    folders = (
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", user),
        os.path.dirname(sys.executable),  # noqa: PTH120 - empty where there is none
        None,  # where a shell looks: a distribution's package
    )
    found = (shutil.which(name, path=folder) for folder in folders if folder != "")
    return Path(next(filter(None, found), name))
