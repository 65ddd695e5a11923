"""`python3 scripts/run.py doctor`, by its older name."""

import sys

import run

if __name__ == "__main__":
    sys.exit(run.main("doctor", *sys.argv[1:]))
