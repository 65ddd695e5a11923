"""What `mitmdump -s addon/normalize.py` loads: nothing but the addon.

Touch this file to reload the whole package: mitmproxy re-runs only this script, and
would keep what it once imported (mitmproxy #4253). Open streams finish on the old code.
"""

import sys

for _name in [name for name in sys.modules if name.split(".")[0] == "llm_normalize"]:
    del sys.modules[_name]

from llm_normalize.addon import Normalize  # noqa: E402 - after the old code is gone

addons = [Normalize()]
