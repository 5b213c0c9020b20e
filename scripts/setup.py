"""Makes this machine ready: `python3 scripts/setup.py demo|test|recorded|clients|bench|power`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from pelorus_tools.machine import main  # noqa: E402

main()
