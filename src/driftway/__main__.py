"""`python -m driftway` is `driftway`."""

import sys

from driftway.cli import main

if __name__ == "__main__":
    sys.exit(main())
