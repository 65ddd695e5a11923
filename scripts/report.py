"""`python3 scripts/run.py report`, by its older name."""

import sys

import run

if __name__ == "__main__":
    sys.exit(run.main("report", *sys.argv[1:]))
