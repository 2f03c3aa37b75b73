"""smoke: the topics' tests in a built image, and with --control in its base too."""

import tempfile
import time
from pathlib import Path

from patchkit.control import judge, read_cases, write_junit
from patchkit.engines.choose import choose_engine
from patchkit.engines.engine import Engine, Mount, RunRequest
from patchkit.engines.recipes import LOCK, key, recipe
from patchkit.engines.runtime import bring_pytest
from patchkit.engines.series_image import (
    LABEL,
    image_tag,
    prove_image,
    refuse_other_base,
    write_context,
    write_smoke,
)
from patchkit.errors import CommandError, ConfigError, SmokeError
from patchkit.model import Outcome, SmokeCase
from patchkit.results.smoke import Smoke
from patchkit.store import chosen_pin, read_current_manifest, replace_file
from patchkit.upstream.access import Access

# The image's own pytest, else ours; never a folder of that name in the working directory.
_PYTEST = """
import importlib.util, sys
ours = sys.argv.pop(1)
sys.path[:] = [entry for entry in sys.path if entry]
if importlib.util.find_spec("pytest") is None:
    sys.path.append(ours)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
_KILLED = 137
_COLLECTED_NOTHING = 5


def run_smoke(
    root: Path,
    pin: str | None,
    access: Access,
    *,
    engine: str = "auto",
    image: str = "",
    topic: str = "",
    junit: Path | None = None,
    control: bool = False,
    fresh: bool = False,
    keep: bool = False,
) -> Smoke:
    """Run the smoke tests of a pin (default: the latest) in its image.

    image: instead of the one that `build` made. control: run them in the image's base as well; the result is
    kept, and the same tests in the same base are not run again unless fresh.
    junit: where to write the verdicts. keep: leave the containers for a look inside.
    """
    started = time.monotonic()
    name = chosen_pin(root, pin)
    if topic and not (root / "patches" / "smoke" / topic).is_dir():
        raise ConfigError(f"topic {topic} has no smoke test", where=f"patches/smoke/{topic}")
    chosen = choose_engine(engine, access)
    target = _find_image(root, name, chosen, image)
    prove_image(chosen, target)
    session = _Session(root, chosen, access, topic, keep)
    base = ""
    unpatched = None
    remembered = False
    if control:
        base = _find_base(root, name, chosen, target)
        unpatched, remembered = session.run_control(base, fresh=fresh or keep)
    access.progress(f"smoke with the series, in {target}")
    patched = read_cases(session.run(target, "with the series"), where=f"{chosen.name} image {target}")
    verdicts = judge(patched, unpatched)
    if junit is not None:
        replace_file(junit, write_junit(verdicts, suite=f"smoke {name}").encode())
    return Smoke(
        pin=name,
        engine=chosen.name,
        image=target,
        base=base,
        control=control,
        remembered=remembered,
        tests=verdicts,
        seconds=time.monotonic() - started,
        kept=tuple(session.kept),
    )


class _Session:
    """Runs the tests in one image after the other, each time with an output folder of its own."""

    def __init__(self, root: Path, engine: Engine, access: Access, topic: str, keep: bool) -> None:
        self.root = root
        self.engine = engine
        self.access = access
        self.topic = topic
        self.keep = keep
        self.kept: list[str] = []

    def run_control(self, base: str, *, fresh: bool) -> tuple[dict[str, SmokeCase], bool]:
        """Return the cases without the series, and whether they were remembered.

        A result is remembered by all that it depends on: engine, base, runtime, tests. One with a case that is
        neither ok nor a fault is not: a loaded machine must not be held against the next run.
        """
        where = f"{self.engine.name} image {base}"
        memory = self.access.cache / "control" / f"{self._control_key(base)}.xml"
        if memory.is_file() and not fresh:
            return read_cases(memory.read_bytes(), where=str(memory)), True
        self.access.progress(f"smoke without the series, in {base}")
        report = self.run(base, "without the series")
        cases = read_cases(report, where=where)
        if all(case.outcome in (Outcome.OK, Outcome.FAULT) for case in cases.values()):
            memory.parent.mkdir(parents=True, exist_ok=True)
            replace_file(memory, report)
        return cases, False

    def _control_key(self, base: str) -> str:
        with tempfile.TemporaryDirectory(prefix="patchkit-smoke-") as folder:
            tests = Path(folder) / "smoke"
            write_smoke(self.root, tests)
            files = sorted(path for path in tests.rglob("*") if path.is_file())
            contents = [part for path in files for part in (str(path.relative_to(tests)), path.read_bytes())]
        pytest = bring_pytest(self.access).name
        return key(self.engine.name, base, recipe(LOCK), pytest, self.topic, *contents)

    def run(self, image: str, title: str) -> bytes:
        """Return the JUnit file of one run; SmokeError when it ended without one."""
        with tempfile.TemporaryDirectory(prefix="patchkit-smoke-") as folder:
            tests, out = Path(folder) / "smoke", Path(folder) / "out"
            write_smoke(self.root, tests)
            out.mkdir()
            out.chmod(0o777)  # the container's user is not ours
            ran = self.engine.run(
                RunRequest(
                    image,
                    self._command(),
                    timeout_s=self.access.deadline_s,
                    mounts=(
                        Mount(tests, "/smoke"),
                        Mount(bring_pytest(self.access), "/patchkit-pytest"),
                        Mount(out, "/out", writable=True),
                    ),
                    environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # an image's own plugins play no part
                    keep=self.keep,
                )
            )
            if ran.container:
                self.kept.append(ran.container)
            report = out / "junit.xml"
            if report.is_file() and ran.status != _COLLECTED_NOTHING:
                return report.read_bytes()
        where = f"{self.engine.name} image {image}"
        tail = "\n".join((ran.stdout + ran.stderr).decode("utf-8", "replace").strip().splitlines()[-8:])
        if ran.status == _KILLED:
            raise CommandError(f"smoke {title} was killed; most likely it used up its memory", where=where, found=tail)
        if ran.status == _COLLECTED_NOTHING:
            raise SmokeError(f"no smoke test was collected {title}", where=where, found=tail)
        raise SmokeError(f"smoke {title} ended with status {ran.status} before a result", where=where, found=tail)

    def _command(self) -> tuple[str, ...]:
        tests = f"/smoke/{self.topic}" if self.topic else "/smoke"
        return (
            "python3", "-c", _PYTEST, "/patchkit-pytest", tests, "--rootdir=/smoke",
            "--junitxml=/out/junit.xml", "-q", "--tb=short", "-p", "no:cacheprovider",
        )  # fmt: skip


def _find_image(root: Path, pin: str, engine: Engine, asked: str) -> str:
    name = asked or image_tag(root, pin, engine)
    facts = engine.inspect(name)
    if facts is None:
        raise ConfigError(
            f"there is no image of {pin} to smoke",
            where=f"{engine.name}: {name}",
            hint=f"patchkit build {pin} --engine {engine.name}",
        )
    carried, series = facts.labels.get(f"{LABEL}.series.sha256", "unknown"), read_current_manifest(root, pin).sha256
    if not asked and carried != series:
        raise ConfigError(
            f"the image was built from another state of the series {pin}",
            where=f"{engine.name}: {name}",
            found=f"its sglang.patch is {carried[:12]}, the store's is {series[:12]}",
            hint=f"patchkit build {pin} --engine {engine.name}",
        )
    told = facts.labels.get(f"{LABEL}.pin", pin)
    if told != pin:
        raise ConfigError(
            f"the image carries {told}, not {pin}", where=name, hint=f"patchkit smoke {told} --image {name}"
        )
    return facts.id


def _find_base(root: Path, pin: str, engine: Engine, image: str) -> str:
    """Return the base that the image was built from, proven to be the pin without the series."""
    facts = engine.inspect(image)
    base = facts.labels.get(f"{LABEL}.base", "") if facts else ""
    if not base or engine.inspect(base) is None:
        raise ConfigError(
            "the base of the image is not here, so there is nothing to control against",
            where=base or f"label {LABEL}.base of {image}",
            hint=f"patchkit build {pin} --engine {engine.name}",
        )
    with tempfile.TemporaryDirectory(prefix="patchkit-context-") as folder:
        context = Path(folder)
        write_context(root, pin, context)
        refuse_other_base(engine, base, context)
    return base
