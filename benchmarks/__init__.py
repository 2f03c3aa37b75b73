"""What patchkit costs, against its peers, in one run: `python -m benchmarks` prints the table.

Each module here that is listed in `__main__.BENCHMARKS` has one function `rows() -> Iterator[Row]` that measures and
yields what it measured (table.py), from the lightest to the heaviest; a limit that is missed is a row too, with its
cause in `note`.
"""
