"""`python -m patchkit`, the same as the console script."""

from patchkit.cli import main

main()
