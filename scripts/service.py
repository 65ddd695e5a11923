"""`python3 scripts/run.py service`, by its older name."""

import sys

import run

if __name__ == "__main__":
    sys.exit(run.main("service", *sys.argv[1:]))
