"""How `import` is shown: the adoption report."""

from patchkit.counting import count
from patchkit.render import table
from patchkit.results.adopt import Adopt, AdoptedPin, AdoptedTopic, Trouble, TroubleKind

_SHOWN = 12  # of one kind; --json has all


def text(result: Adopt) -> str:
    """Return each set with its pin, then each trouble by kind, then what to do."""
    blocks = [_set_block(each) for each in result.sets]
    for kind in TroubleKind:
        of_kind = [trouble for trouble in result.troubles if trouble.kind is kind]
        if of_kind:
            blocks.append(_kind_block(kind, of_kind))
    if not result.troubles:
        blocks.append("no trouble found")
    closing = [f"note: {note}" for note in result.notes]
    verb = "would write" if result.dry_run else "wrote"
    closing += [f"wrote {path}" for path in result.written]
    if result.dry_run:
        pins = count(sum(not each.reason for each in result.sets), "pin")
        closing.append(f"{verb} {pins}; nothing was written (--dry-run)")
    return "\n\n".join([*blocks, "\n".join([*closing, f"next: {result.next_step}"])])


def _set_block(each: AdoptedPin) -> str:
    how = f"{each.same} of {each.blobs} preimage blobs" if each.blobs else "no index lines; it applies there"
    head = f"{each.label} -> patches/{each.pin} ({how}; order: {each.order})" if each.pin else f"{each.label} -> ?"
    lines = [head]
    if each.ties:
        lines.append(f"  the ids fit as well: {', '.join(f'v{version}' for version in each.ties)}")
    if each.reason:
        lines.append(f"  not taken: {each.reason}")
    elif each.left_out:
        lines.append(f"  taken without the hunks that have no place; they are kept in {', '.join(each.left_out)}")
    elif not each.composes:
        lines.append("  taken as it is, but it does not apply to its pin: sglang.patch cannot be generated yet")
    rows = [(topic.topic, topic.source, _size(topic), _outside(topic.outside)) for topic in each.topics]
    return "\n".join([*lines, table(rows, indent="  ")]).rstrip("\n")


def _size(topic: AdoptedTopic) -> str:
    return f"{count(topic.hunks, 'hunk')} in {count(topic.files, 'file')}"


def _outside(count: int) -> str:
    return f"and {count} outside python/sglang" if count else ""


def _kind_block(kind: TroubleKind, of_kind: list[Trouble]) -> str:
    lines = [f"{kind.value} ({len(of_kind)})"]
    for trouble in of_kind[:_SHOWN]:
        rule = f"{trouble.rule} " if trouble.rule else ""
        lines.append(f"  {trouble.where}: {rule}{trouble.what}")
        if trouble.found:
            lines.append(f"    found: {trouble.found}")
    hints = list(dict.fromkeys(trouble.hint for trouble in of_kind if trouble.hint))
    lines += [f"    hint:  {hint}" for hint in hints[:3]]
    if len(of_kind) > _SHOWN:
        lines.append(f"  ... and {len(of_kind) - _SHOWN} more (--json has all)")
    return "\n".join(lines)
