"""`python -m iot2` is the command `iot2`."""

import sys

from iot2.cli import main

sys.exit(main())
