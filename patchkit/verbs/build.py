"""build: an image of each pin, from a proven base, labelled and ready to answer for itself."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from patchkit.errors import CommandError, ConfigError, PatchkitError
from patchkit.model import Pin
from patchkit.process import run
from patchkit.results.build import Build, BuiltImage
from patchkit.store import chosen_pin, read_pin, read_version, record_image
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. base: an image with the pin's sglang installed, or "cpu".

    base: empty for the first of the pin's base images that is here, else "cpu".
    tag: the image's name; push: send it to the registry of that name and record its digest.
    """

    base: str = ""
    tag: str = ""
    push: bool = False
    use_cache: bool = True


def build_images(
    root: Path, pins: Sequence[str], access: Access, *, engine: str = "auto", options: BuildOptions = BuildOptions()
) -> Build:
    """Build the image of each pin (default: the latest), and prove each one by asking it."""
    names = [chosen_pin(root, pin) for pin in pins] or [chosen_pin(root, None)]
    if options.tag and len(names) > 1:
        raise ConfigError("one tag cannot name several images", found=", ".join(names))
    if options.push and not has_registry(options.tag):
        raise ConfigError(
            "the image has no name that a registry would take",
            found=options.tag,
            hint="patchkit build --push --tag REGISTRY/NAME:TAG",
        )
    chosen = choose_engine(engine, access)
    if options.push and not isinstance(chosen, ContainerEngine):
        raise ConfigError("a virtual environment cannot be pushed", hint="patchkit build --push --engine podman ...")
    return Build(tuple(_build(root, read_pin(root, name), access, chosen, options) for name in names))


def has_registry(tag: str) -> bool:
    """Return whether the name says which registry it belongs to."""
    host, slash, _ = tag.partition("/")
    return bool(slash) and ("." in host or ":" in host) and host != "localhost"


def _build(root: Path, pin: Pin, access: Access, engine: Engine, options: BuildOptions) -> BuiltImage:
    started = time.monotonic()
    base_image = _bring_base(pin, access, engine, options.base)
    facts = engine.inspect(base_image)
    if facts is None:
        raise CommandError(f"{engine.name} has no image {base_image}", hint=f"{engine.name} pull {base_image}")
    name = options.tag or image_tag(root, pin.name, engine)
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
        access.progress(f"building {name} on {base_image}")
        request = BuildRequest(
            base_image,
            context,
            name,
            timeout_s=access.deadline_s,
            labels=labels.as_labels(),
            timestamp=timestamp,
            use_cache=options.use_cache,
        )
        image = engine.build(request)
    _prove(engine, image, name)
    built = BuiltImage(
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
    if options.push and isinstance(engine, ContainerEngine):
        return _push(root, built, labels, engine, access)
    return built


def _prove(engine: Engine, image: str, name: str) -> None:
    """Let the image answer for itself; one that cannot loses its name, so that nobody takes it for the built one."""
    try:
        prove_image(engine, image)
    except PatchkitError:
        engine.remove(name)
        raise


def _push(root: Path, built: BuiltImage, labels: Labels, engine: ContainerEngine, access: Access) -> BuiltImage:
    """Send the image to its registry and record what it is called there in patches/<pin>/images.json."""
    access.progress(f"pushing {built.tag}")
    digest = engine.push(built.image, built.tag, timeout_s=access.deadline_s)
    entry = {
        "reference": built.tag,
        "digest": digest,
        "version": labels.version,
        "series": built.series,
        "base": built.base,
        "base_digest": built.base_id,
    }
    record_image(root, built.pin, entry)
    return replace(built, pushed=digest)


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
