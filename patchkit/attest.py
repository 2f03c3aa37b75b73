"""Documents about an image for other tools: a CycloneDX 1.6 bill of sglang, an in-toto statement of its build."""

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from patchkit.counting import count
from patchkit.model import DirectorySource, Distribution, GitSource, Pin, Topic

CYCLONEDX = "http://cyclonedx.org/schema/bom-1.6.schema.json"
STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:patchkit:build:1"
UPSTREAM = "https://github.com/sgl-project/sglang"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:patchkit")


@dataclass(frozen=True, slots=True)
class AttestedPatch:
    """One patch file of the series. path: in its own repository. topic: None where it is described nowhere."""

    name: str
    path: str
    sha256: str
    text: bytes
    topic: Topic | None


@dataclass(frozen=True, slots=True)
class Attested:
    """What the documents are about, all of it found to be so.

    name: of the image or directory. digest: (algorithm, hex) of it. created: as "2026-08-10T00:00:00Z"; may be empty.
    base: (name, algorithm, hex) of the base image; None where there is none. revision: the commit of the series' own
    repository; may be empty.
    """

    name: str
    digest: tuple[str, str]
    version: str
    created: str
    pin: Pin
    series: str
    patches: Sequence[AttestedPatch]
    base: tuple[str, str, str] | None
    revision: str
    engine: str
    tool_version: str


def cyclonedx(about: Attested) -> dict[str, Any]:
    """Return a CycloneDX 1.6 document of sglang, with its ancestor and each patch in the pedigree."""
    identity = f"{about.name} {about.digest[1]} {about.series}"
    metadata: dict[str, Any] = {
        "tools": {"components": [{"type": "application", "name": "patchkit", "version": about.tool_version}]},
        "component": {"type": "container" if about.base else "application", "bom-ref": "image", "name": about.name},
    }
    if about.version:
        metadata["component"]["version"] = about.version
    if about.digest[0] == "sha256":
        metadata["component"]["hashes"] = [{"alg": "SHA-256", "content": about.digest[1]}]
    if about.created:
        metadata["timestamp"] = about.created
    return {
        "$schema": CYCLONEDX,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, identity)}",
        "version": 1,
        "metadata": metadata,
        "components": [_sglang(about)],
        "dependencies": [{"ref": "image", "dependsOn": ["sglang"]}, {"ref": "sglang"}],
    }


def _sglang(about: Attested) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": "sglang",
        "name": "sglang",
        "version": f"{about.pin.version}+patchkit.{about.series[:12]}",
        "modified": True,
        "pedigree": {
            "ancestors": [_ancestor(about.pin)],
            "patches": [_patch(patch) for patch in about.patches],
            "notes": f"{count(len(about.patches), 'patch', 'patches')} on {about.pin.version}; "
            f"sha256 of the series: {about.series}",
        },
        "properties": [
            {"name": "patchkit:pin", "value": about.pin.name},
            {"name": "patchkit:series:sha256", "value": about.series},
            *({"name": f"patchkit:topic:{p.name}:sha256", "value": p.sha256} for p in about.patches),
        ],
    }


def _ancestor(pin: Pin) -> dict[str, Any]:
    ancestor: dict[str, Any] = {
        "type": "library",
        "bom-ref": "sglang-upstream",
        "name": "sglang",
        "version": pin.version,
        **_ancestor_source(pin),
        "properties": [{"name": "patchkit:tree", "value": pin.tree}],
    }
    if pin.commit:
        ancestor["externalReferences"] = [{"type": "vcs", "url": f"{UPSTREAM}/tree/{pin.commit}"}]
    return ancestor


def _ancestor_source(pin: Pin) -> dict[str, Any]:
    match pin.source:
        case Distribution(filename, sha256):
            purl = f"pkg:pypi/sglang@{pin.version}?file_name={filename}"
            return {"purl": purl, "hashes": [{"alg": "SHA-256", "content": sha256}]}
        case GitSource(location):
            place = _quoted(f"git+{location}@{pin.commit}")
            return {"purl": f"pkg:generic/sglang@{_quoted(pin.version)}?vcs_url={place}"}
        case DirectorySource():
            return {"purl": f"pkg:generic/sglang@{_quoted(pin.version)}"}


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _patch(patch: AttestedPatch) -> dict[str, Any]:
    text = {"contentType": "text/x-patch", "encoding": "base64", "content": base64.b64encode(patch.text).decode()}
    entry: dict[str, Any] = {"type": "unofficial", "diff": {"text": text, "url": patch.path}}
    if patch.topic and patch.topic.upstream:
        entry["resolves"] = [_resolved(name, patch.topic) for name in patch.topic.upstream]
    return entry


def _resolved(reference: str, topic: Topic) -> dict[str, Any]:
    repository, _, number = reference.partition("#")
    url = f"https://github.com/{repository}/issues/{number}"
    return {
        "type": "defect",
        "id": reference,
        "name": topic.title,
        "description": topic.fault,
        "source": {"name": repository, "url": url},
        "references": [url],
    }


def provenance(about: Attested) -> dict[str, Any]:
    """Return an unsigned in-toto statement with SLSA provenance v1; subject: the image, by its digest."""
    metadata = {"startedOn": about.created} if about.created else {}
    parameters: dict[str, Any] = {"pin": about.pin.name, "topics": [patch.name for patch in about.patches]}
    if about.version:
        parameters["tag"] = about.version
    if about.base:
        parameters["base"] = about.base[0]
    return {
        "_type": STATEMENT,
        "subject": [{"name": about.name, "digest": {about.digest[0]: about.digest[1]}}],
        "predicateType": PROVENANCE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "internalParameters": {"series": {"sha256": about.series}},
                "resolvedDependencies": _materials(about),
            },
            "runDetails": {
                "builder": {"id": f"urn:patchkit:engine:{about.engine}", "version": {"patchkit": about.tool_version}},
                "metadata": metadata,
            },
        },
    }


def _upstream_materials(pin: Pin) -> list[dict[str, Any]]:
    match pin.source:
        case Distribution(filename, sha256):
            digest = {"sha256": sha256, "gitTree": pin.tree}
            distribution = {"name": filename, "uri": f"pkg:pypi/sglang@{pin.version}", "digest": digest}
            commit = {"uri": f"git+{UPSTREAM}@refs/tags/{pin.name}", "digest": {"gitCommit": pin.commit}}
            return [distribution, *([commit] if pin.commit else [])]
        case GitSource(location):
            return [{"uri": f"git+{location}", "digest": {"gitCommit": pin.commit, "gitTree": pin.tree}}]
        case DirectorySource(path):
            return [{"name": path, "digest": {"gitTree": pin.tree}}]


def _materials(about: Attested) -> list[dict[str, Any]]:
    pin = about.pin
    materials: list[dict[str, Any]] = _upstream_materials(pin)
    revision: Mapping[str, Any] = {"annotations": {"revision": about.revision}} if about.revision else {}
    materials += [{"name": p.path, "digest": {"sha256": p.sha256}, **revision} for p in about.patches]
    if about.base:
        name, algorithm, value = about.base
        materials.append({"name": name, "uri": f"docker://{name}", "digest": {algorithm: value}})
    return materials
