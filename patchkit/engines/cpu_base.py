"""`--base cpu`: a stand-in for lmsysorg/sglang where there is no GPU, and maybe no registry.

Three images, each made once and named by what it is made from: Debian with Python; the CPU runtime on it, one for
all pins; a pin's tree on that. No build has a network: the wheels come from the host's own pip.
"""

import os
import tempfile
from pathlib import Path

from patchkit.engines.containers import ContainerEngine
from patchkit.engines.engine import BuildRequest, RunRequest
from patchkit.engines.recipes import CPU_BASE, CPU_RUNTIME, DOCKERFILE, LOCK, key, recipe
from patchkit.engines.runtime import bring_wheelhouse
from patchkit.errors import CommandError
from patchkit.process import run
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream

PYTHON_IMAGE = "PATCHKIT_PYTHON_IMAGE"  # names an image with python3, venv and git, instead of mmdebstrap's
_SUITE = "bookworm"
_PACKAGES = "python3,python3-venv,git,ca-certificates"
_UNWANTED = ("doc", "man", "locale", "info")
_PYTHON_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def bring_cpu_base(engine: ContainerEngine, upstream: Upstream, access: Access) -> str:
    """Return the name of an image with this upstream installed and nothing patched; made if it is not there."""
    runtime = _bring_runtime_image(engine, access)
    runtime_id = _id(engine, runtime)
    made_from = key(runtime_id, upstream.tree, recipe(CPU_BASE))
    tag = f"{engine.local_prefix}patchkit/sglang-cpu:v{upstream.version.replace('+', '-')}-{made_from}"
    if engine.inspect(tag) is None:
        access.progress(f"installing sglang {upstream.version} on the CPU runtime")
        with tempfile.TemporaryDirectory(prefix="patchkit-context-") as folder:
            context = Path(folder)
            upstream.write_to(context)
            (context / "python" / "pyproject.toml").write_text(_pyproject(upstream.version))
            (context / DOCKERFILE).write_bytes(recipe(CPU_BASE))
            engine.build(
                BuildRequest(
                    runtime,
                    context,
                    tag,
                    timeout_s=access.deadline_s,
                    arguments={"SGLANG_VERSION": upstream.version},
                    labels={"org.opencontainers.image.title": f"sglang {upstream.version} on a CPU, for smoke tests"},
                )
            )
    return tag


def _bring_runtime_image(engine: ContainerEngine, access: Access) -> str:
    debian = bring_python_image(engine, access)
    tag = f"{engine.local_prefix}patchkit/cpu-runtime:{key(_id(engine, debian), recipe(CPU_RUNTIME), recipe(LOCK))}"
    if engine.inspect(tag) is None:
        asked = engine.run(RunRequest(debian, ("python3", "-c", _PYTHON_VERSION), timeout_s=60))
        wheelhouse = bring_wheelhouse(asked.stdout.decode().strip(), access)
        access.progress("building the CPU runtime image (1.2 GB, once)")
        with tempfile.TemporaryDirectory(prefix=".context-", dir=wheelhouse.parent) as folder:
            context = Path(folder)
            (context / "wheelhouse").mkdir()
            for wheel in wheelhouse.glob("*.whl"):
                os.link(wheel, context / "wheelhouse" / wheel.name)
            (context / LOCK).write_bytes(recipe(LOCK))
            (context / DOCKERFILE).write_bytes(recipe(CPU_RUNTIME))
            engine.build(
                BuildRequest(
                    debian,
                    context,
                    tag,
                    timeout_s=access.deadline_s,
                    arguments={"WHEELHOUSE_DIGEST": key(*sorted(wheel.name for wheel in wheelhouse.iterdir()))},
                )
            )
    return tag


def bring_python_image(engine: ContainerEngine, access: Access) -> str:
    """Return an image with Python and git: the user's, or a small Debian."""
    given = os.environ.get(PYTHON_IMAGE, "")
    if given:
        if engine.inspect(given) is None:
            engine.pull(given, timeout_s=access.deadline_s)
        return given
    tag = f"{engine.local_prefix}patchkit/debian:{_SUITE}"
    if engine.inspect(tag) is None:
        access.progress(f"making a small Debian {_SUITE} with Python (210 MB, once)")
        with tempfile.TemporaryDirectory(prefix="patchkit-debian-") as folder:
            archive = Path(folder) / "root.tar"
            _make_root(archive, access)
            engine.import_root(archive, tag, timeout_s=access.deadline_s)
    return tag


def _make_root(archive: Path, access: Access) -> None:
    if access.offline:
        raise CommandError(
            "the CPU base is not here, and --offline forbids to make it", hint="patchkit build --base cpu    # once"
        )
    command = [
        "mmdebstrap", "--quiet", "--variant=minbase", f"--include={_PACKAGES}", '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _UNWANTED),
        '--customize-hook=rm -rf "$1"/var/cache/debconf/*-old "$1"/var/log/*.log "$1"/var/log/apt',
        _SUITE, str(archive),
    ]  # fmt: skip
    try:
        run(command, cwd=archive.parent, timeout_s=access.deadline_s)
    except CommandError as exc:
        exc.hint = f"apt-get install mmdebstrap, or name an image that has python3, venv and git: {PYTHON_IMAGE}=IMAGE"
        raise


def _id(engine: ContainerEngine, image: str) -> str:
    facts = engine.inspect(image)
    if facts is None:
        raise CommandError(f"{engine.name} has lost the image {image}", hint="patchkit build --base cpu")
    return facts.id


def _pyproject(version: str) -> str:
    """Return what an editable install needs to know; the wheel does not bring upstream's own."""
    return (
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "sglang"\nversion = "{version}"\n'
        '[tool.setuptools.packages.find]\ninclude = ["sglang*"]\n'
    )
