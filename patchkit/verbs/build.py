"""build: an image of each pin, from a proven base, labelled and ready to answer for itself."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from patchkit.engines.choose import choose_engine
from patchkit.engines.containers import ContainerEngine
from patchkit.engines.cpu_base import bring_cpu_base
from patchkit.engines.engine import BuildRequest, Engine
from patchkit.engines.series_image import (
    Labels,
    image_tag,
    prove_image,
    refuse_other_base,
    source_date,
    write_context,
)
from patchkit.engines.venv import Venv
from patchkit.errors import CommandError, ConfigError
from patchkit.model import Pin
from patchkit.process import run
from patchkit.results import Build, BuiltImage
from patchkit.store import chosen_pin, read_pin, read_version
from patchkit.upstream import Access, bring_pin

CPU = "cpu"


def build_images(
    root: Path, pins: Sequence[str], access: Access, *, engine: str = "auto", base: str = "", tag: str = ""
) -> Build:
    """Build the image of each pin (default: the latest), and prove each one by asking it.

    base: an image with the pin's sglang installed, or "cpu"; empty for the first of the pin's base images
    that is here, else "cpu".
    """
    names = [chosen_pin(root, pin) for pin in pins] or [chosen_pin(root, None)]
    if tag and len(names) > 1:
        raise ConfigError("one tag cannot name several images", found=", ".join(names))
    chosen = choose_engine(engine, access)
    return Build(tuple(_build(root, read_pin(root, name), access, chosen, base=base, tag=tag) for name in names))


def _build(root: Path, pin: Pin, access: Access, engine: Engine, *, base: str, tag: str) -> BuiltImage:
    started = time.monotonic()
    base_image = _bring_base(pin, access, engine, base)
    facts = engine.inspect(base_image)
    if facts is None:
        raise CommandError(f"{engine.name} has no image {base_image}", hint=f"{engine.name} pull {base_image}")
    with tempfile.TemporaryDirectory(prefix="patchkit-context-") as folder:
        context = Path(folder)
        manifest = write_context(root, pin.name, context)
        refuse_other_base(engine, base_image, context)
        timestamp = source_date()
        labels = Labels(
            pin=pin,
            manifest=manifest,
            version=str(read_version(root)),
            base=base_image,
            base_id=facts.digest or facts.id,
            revision=_revision(root),
            created=int(time.time()) if timestamp is None else timestamp,
        )
        name = tag or image_tag(root, pin.name, engine)
        access.progress(f"building {name} on {base_image}")
        image = engine.build(
            BuildRequest(
                base_image,
                context,
                name,
                timeout_s=access.deadline_s,
                labels=labels.as_labels(),
                timestamp=timestamp,
                talk=access.progress,
            )
        )
    prove_image(engine, image)
    return BuiltImage(
        pin=pin.name,
        engine=engine.name,
        image=image,
        tag=name,
        base=base_image,
        base_id=labels.base_id,
        series=manifest.sha256,
        topics=tuple(manifest.topics),
        files=len(manifest.files),
        seconds=time.monotonic() - started,
    )


def _bring_base(pin: Pin, access: Access, engine: Engine, asked: str) -> str:
    if isinstance(engine, Venv):
        if asked not in ("", CPU):
            raise ConfigError("the venv engine has no images: its base is the pin's own tree", found=f"--base {asked}")
        return engine.bring_base(bring_pin(pin, access))
    assert isinstance(engine, ContainerEngine)
    if not asked:
        asked = next((image for image in pin.base_images if engine.inspect(image)), CPU)
    if asked == CPU:
        return bring_cpu_base(engine, bring_pin(pin, access), access)
    if engine.inspect(asked) is None:
        if access.offline:
            raise CommandError(f"the base image {asked} is not here, and --offline forbids to pull it")
        access.progress(f"pulling {asked}")
        engine.pull(asked, timeout_s=access.deadline_s)
    return asked


def _revision(root: Path) -> str:
    """Return the commit of the repository that the series is kept in; empty outside one."""
    asked = run(["git", "rev-parse", "--verify", "--quiet", "HEAD"], cwd=root, timeout_s=30, allowed=range(256))
    return asked.stdout.decode().strip() if asked.ok else ""
