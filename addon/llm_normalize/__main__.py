"""`python -m llm_normalize` is the command `llm-normalize`."""

import sys

from .cli import main

sys.exit(main())
