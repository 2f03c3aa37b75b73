"""How `build` is shown."""

from patchkit.counting import count
from patchkit.results.build import Build


def text(result: Build) -> str:
    """Return each image with what it is and what it was made from."""
    lines = []
    for image in result.images:
        lines += [
            f"{image.pin}: built with {image.engine} in {image.seconds:.1f} s, proven by its own imports",
            f"  image:  {image.image}",
            f"  tag:    {image.tag}",
            f"  base:   {image.base}",
            f"  series: {image.series[:12]}, {count(image.files, 'file')}: {', '.join(image.topics)}",
        ]
        if image.pushed:
            lines.append(f"  pushed: {image.pushed}")
    pin = f" {result.images[0].pin}" if len(result.images) == 1 else ""
    return "\n".join([*lines, f"next: patchkit smoke{pin} --control --engine {result.images[0].engine}"])
