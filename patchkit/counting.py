"""How many there are, in words: "1 hunk", "2 hunks"."""


def count(number: int, one: str, many: str = "") -> str:
    """Return the number with its noun; the plural is made with an s unless it is given."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
