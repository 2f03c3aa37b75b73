"""The rules PK2xx to PK8xx, and every rule by its id; `patchkit explain PK502` shows one."""

from patchkit.rules.catalog import TEXT, Rule

FAMILIES = {
    "PK1": "text: the patch file is what it looks like",
    "PK2": "base: it is written for this upstream",
    "PK3": "application: each hunk has its place, and the result is the promised one",
    "PK4": "placement: each hunk stands where it was meant",
    "PK5": "single application: nothing is there twice",
    "PK6": "Python: what is added is sound and fits the tree",
    "PK7": "guards: what the topic exists for holds",
    "PK8": "store: the files of the store agree",
}

BASE = {
    "PK201": Rule(
        "a file is not the one that the patch is written for",
        "The patch may still apply, to code that its author never saw. Folder names and README tables named another "
        "release than the ids in 5 of 12 projects.",
        "`patchkit identify FILE` says which release it belongs to; `patchkit rebase` carries it here.",
    ),
    "PK202": Rule(
        "the patch changes a file that is not there",
        "GNU patch prints the same words for a missing file as for a patch that was applied already.",
        "Upstream moved or deleted it: `patchkit rebase` follows it.",
    ),
    "PK203": Rule(
        "the patch creates a file that is there already",
        "Upstream has it now, or the patch was applied before.",
        "Compare both files; drop the section or make it a change.",
    ),
    "PK204": Rule(
        "no index line",
        "Whether this is the file that the patch is written for, and what it should give, cannot be proven.",
        "Make the patch again: `git diff --full-index`, or `patchkit refresh`.",
    ),
    "PK205": Rule(
        "a file of the checkout is not what the series gives",
        "What is proven of the series is not true of this checkout: it was not applied, or somebody edited the file.",
        "`patchkit apply CHECKOUT`, or make the edit a topic: `patchkit edit`.",
    ),
    "PK206": Rule(
        "files beside the series are not the pin's",
        "The checkout is another release, or was edited; the series was never proven on it.",
        "`patchkit identify CHECKOUT` says which release it is.",
    ),
}

APPLICATION = {
    "PK301": Rule(
        "a hunk has no place",
        "Its context or the lines that it removes are not there. With fuzz, tools put it elsewhere and end with 0.",
        "`patchkit rebase`, if upstream is another one than the patch was written for.",
    ),
    "PK302": Rule(
        "a hunk fits several places equally well",
        "git takes one without a word; that can be the wrong one of two branches that look alike.",
        "Give the hunk more context: `patchkit edit`, then `patchkit refresh`.",
    ),
    "PK303": Rule(
        "a hunk lands on other lines than it says",
        "Allowed, and told: the next release may move it past a place that looks the same.",
        "`patchkit refresh`.",
    ),
    "PK304": Rule(
        "the result is not the one that the index line promises",
        "The patch text was edited by hand, or it was written on another base.",
        "`patchkit refresh`.",
    ),
    "PK305": Rule(
        "reverse does not restore the file",
        "What cannot be taken out again cannot be replaced by the next version.",
        "Make the patch again: `git diff --full-index`, or `patchkit refresh`.",
    ),
    "PK306": Rule(
        "sglang.patch is not what the series composes to",
        "Images are built from sglang.patch, people read the topics: they must be the same.",
        "`patchkit refresh`.",
    ),
    "PK307": Rule(
        "the series changes nothing",
        "An image is labelled as patched and is not; that is what `git apply` in a subdirectory of another "
        "repository gives, with status 0.",
        "Look whether the change is upstream already.",
    ),
}

PLACEMENT = {
    "PK401": Rule(
        "a hunk stands in another place than the manifest records",
        "A real patch has been editing get_image_feature instead of get_video_feature with every blob id right: it "
        "had been generated again from the tree in which it was wrong. So the manifest locks each hunk's scope, and "
        "between which statements of upstream it stands: `for#2/if: 3-4` is the second `for`, in it the only `if`, "
        "after its third statement.",
        "Read the hunk in its place; if it is right there, `patchkit refresh` records the new place, which a "
        "reviewer sees.",
    ),
    "PK402": Rule(
        "a hunk fits several places and nothing records which is meant",
        "The next release moves one of them nearer, and the hunk with it.",
        "Give it a line of context that only one place has, or record its scope: `patchkit refresh`.",
    ),
    "PK403": Rule(
        "the manifest records no scope for a hunk",
        "Nobody has confirmed where it is meant.",
        "`patchkit refresh`, and read what it records.",
    ),
    "PK404": Rule(
        "a hunk's header names another function than the one it lands in",
        "When the patch was made, its lines stood below that definition; they do not here.",
        "Read the hunk in its place; if it is right there, `patchkit refresh` writes the header again.",
    ),
}

SINGLE = {
    "PK501": Rule(
        "one body defines a name twice",
        "Python keeps the last and says nothing. A real patch did so on its own exact base, with every id right: "
        "upstream had landed the method.",
        "Drop the hunk if upstream's does the same; else change upstream's in place.",
    ),
    "PK502": Rule(
        "the same change is there twice",
        "The same fix five lines lower upstream is applied a second time by `git apply`, `git am`, `git rebase` and "
        "`wiggle`, all with status 0.",
        "Drop the hunk if upstream has the fix; else show by a test that both run for different things.",
    ),
    "PK503": Rule(
        "upstream has the definition elsewhere",
        "It was moved or landed in another file or a base class; two copies drift apart.",
        "Use upstream's, and drop the hunk.",
    ),
    "PK504": Rule(
        "the series hides an upstream method",
        "A method of a base class is no longer called. Upstream's next change to it has no effect here.",
        "Call super(), or accept the finding with the reason.",
    ),
    "PK505": Rule(
        "one path makes the same call twice",
        "A second release frees what others use already, or stops the process: `release_kv_cache` asserts on it. A "
        "function that is called on the path counts too, where it releases the same thing on every run.",
        "Keep one of the two; if both are meant, accept the finding with the reason.",
    ),
}

PYTHON = {
    "PK601": Rule(
        "a file does not compile, or a class in it cannot be made",
        "Every process that imports it ends.",
        "Mend the topic: `patchkit edit`.",
    ),
    "PK602": Rule(
        "a name is not defined",
        "It fails when the line runs, which for an error path may be weeks after the release.",
        "Upstream renamed, moved or no longer imports it: look for its new name, or import it in the topic.",
    ),
    "PK603": Rule(
        "an import is no longer used",
        "It costs nothing, and shows that a hunk did more than it said.",
        "Drop the import in the same topic.",
    ),
    "PK604": Rule(
        "a name is bound again before it was used",
        "One of the two is dead.",
        "Drop the hunk if upstream's does the same.",
    ),
    "PK605": Rule(
        "an attribute is not there",
        "`self.tp_rank` became `self.ps.tp_rank`: in a timeout path that crashes only when it is needed.",
        "The finding names its new place where there is one.",
    ),
    "PK606": Rule(
        "an import names what is not there",
        "The module cannot be imported, and with it the server.",
        "Upstream moved or renamed it; an old name that is kept as a re-export is no finding.",
    ),
    "PK607": Rule(
        "a call does not fit the signature",
        "An argument became keyword-only, or a new one is required: TypeError when the line runs.",
        "Give the arguments as the function takes them now.",
    ),
    "PK608": Rule(
        "upstream's call of a function that the series changed no longer fits",
        "The topic's own tests pass, and another entry point of upstream breaks.",
        "Give the new argument a default, or change that caller in the same topic.",
    ),
    "PK609": Rule(
        "an attribute's name stands nowhere in the tree",
        "What type the object has cannot be told, but no line of upstream and none of the series has the name.",
        "Upstream renamed it, or it is misspelt; accept it if it comes from outside.",
    ),
}

GUARDS = {
    "PK701": Rule(
        "a guard fails",
        "The property that the topic exists for does not hold on the patched source, although it applies and compiles.",
        "Carry the topic, mend it, or accept the guard in pin.toml with a reason and a last day.",
    ),
    "PK702": Rule(
        "a guard cannot be evaluated",
        "Its file, scope or subject is gone. Nothing is known then, which is not the same as holding.",
        "Give the guard the new place, with a range of releases of its own.",
    ),
}

STORE = {
    "PK801": Rule(
        "a patch file is not listed in the series",
        "It is in nobody's image, and looks as if it were.",
        "List it, or delete it.",
    ),
    "PK802": Rule(
        "a generated file is not current",
        "Images are built from it.",
        "`patchkit refresh PIN`.",
    ),
    "PK803": Rule(
        "a patch lacks header fields",
        "The next person cannot tell what it is for or where it was sent.",
        "Add the DEP-3 fields: Description, Origin, Forwarded, Last-Update.",
    ),
    "PK804": Rule(
        "a topic is carried and not described",
        "Nobody knows when it may go.",
        "Describe it in topics.toml.",
    ),
    "PK805": Rule(
        "a topic lacks a reason, guards or smoke tests",
        "Nothing proves that it still works.",
        "Add them to topics.toml.",
    ),
    "PK806": Rule(
        "a topic names guards or smoke tests that are not there",
        "They look as if they ran.",
        "Write them, or take the name out.",
    ),
    "PK807": Rule(
        "a declared place names another tag or pin",
        "6 of 76 hand-written tags were malformed, one was used twice.",
        "`patchkit bump`.",
    ),
    "PK808": Rule(
        "a Dockerfile applies a patch that no series lists",
        "What the series says and what the image holds part ways; a hard-coded list once skipped a patch and deleted"
        " it.",
        "Make it a topic, or drop the line.",
    ),
    "PK809": Rule(
        "patches/latest is not the newest pin",
        "Commands without a pin work on an older one.",
        "Write the newest pin into patches/latest when it is ready.",
    ),
    "PK811": Rule(
        "an acceptance has ended",
        "A finding was accepted for a while; the while is over.",
        "Mend the finding, or give a new day with the reason.",
    ),
    "PK812": Rule(
        "an acceptance covers nothing",
        "It would silently cover the next finding of its kind.",
        "Delete it.",
    ),
}

CATALOG = {**TEXT, **BASE, **APPLICATION, **PLACEMENT, **SINGLE, **PYTHON, **GUARDS, **STORE}
