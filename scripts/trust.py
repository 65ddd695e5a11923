"""`python3 scripts/run.py trust`, by its older name."""

import sys

import run

if __name__ == "__main__":
    sys.exit(run.main("trust", *sys.argv[1:]))
