"""The console script, and `python -m patchkit`: how the process begins and ends."""

import gc
import os
import sys
from typing import NoReturn

from patchkit.errors import INTERRUPTED

_RARELY = 200_000  # objects; by default Python looks for cycles at every 700th, and a command makes next to none


def run() -> None:
    """Run the command line. Ctrl-C is answered from the first import on."""
    gc.set_threshold(_RARELY)
    try:
        from patchkit.cli import main

        main()  # ends with SystemExit
    except SystemExit as end:
        _leave(int(end.code or 0))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        _leave(INTERRUPTED)


def _leave(code: int) -> NoReturn:
    """End at once: to take every object apart before would cost some milliseconds for nothing."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the caller
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
