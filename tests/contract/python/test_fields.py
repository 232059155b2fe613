"""Every field of the contract has a use: product code reads it or sets it.

Fields of messages come from the descriptors. One counts as used where a product source that names its message, a message
that holds it, or a call that takes or returns it, reads it (`.field`), sets it or takes it apart (`field:`, or the field
alone in braces). A field of a `oneof` counts as used where its variant is named (`Kind::Variant`).

Most messages are converted to domain types in proto/, and the conversion uses every field. So every field of a domain
type must in addition be used by a service or a client. Test modules do not count.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor

ROOT = Path(__file__).resolve().parents[3]
CONTRACT = "proto/src"
DOMAIN = ["proto/src/domain", "proto/src/service"]
USERS = ["services/*/src", "clients/*/src"]

# Fields that no product code uses, each with the reason why the contract has it.
EXCEPTIONS: dict[str, str] = {}

# Words that Rust reserves; prost writes them as raw identifiers.
RESERVED_WORDS = {"final", "loop", "match", "move", "ref", "type", "use", "virtual", "where"}


def descriptors() -> list[Descriptor]:
    """Returns all messages of the contract, the nested ones too, without the entries of maps."""
    waiting = []
    for path in sorted((ROOT / "proto").glob("motorium/*/v1/*.proto")):
        module = path.relative_to(ROOT / "proto").with_suffix("").as_posix().replace("/", ".")
        waiting += importlib.import_module(f"{module}_pb2").DESCRIPTOR.message_types_by_name.values()
    messages = []
    while waiting:
        message = waiting.pop()
        waiting += message.nested_types
        if not message.GetOptions().map_entry:
            messages.append(message)
    return messages


MESSAGES = descriptors()


@cache
def sources(*patterns: str) -> dict[str, str]:
    """Returns the sources in these folders, without comments and without test modules."""
    folders = [folder for pattern in patterns for folder in ROOT.glob(pattern)]
    paths = [path for folder in folders for path in folder.rglob("*.rs") if path.name != "tests.rs"]
    return {str(path.relative_to(ROOT)): without_tests(path.read_text()) for path in paths}


def without_tests(text: str) -> str:
    # Test modules are at the end of their file.
    product = re.split(r"^#\[cfg\(test\)\]\n(?:pub )?mod \w+ \{", text, flags=re.MULTILINE)[0]
    return re.sub(r"//.*", "", product)


@cache
def words(*patterns: str) -> dict[str, set[str]]:
    return {path: set(re.findall(r"\w+", text)) for path, text in sources(*patterns).items()}


def is_used(field: re.Pattern[str], names: set[str], *patterns: str) -> bool:
    """Returns whether a source that contains one of the names uses the field."""
    named = words(*patterns)
    return any(field.search(text) for path, text in sources(*patterns).items() if names & named[path])


def use_of(field: str) -> re.Pattern[str]:
    """Matches a field that is read, set or taken apart, or that is alone in braces."""
    return re.compile(rf"\.{field}\b|\b{field}:(?!:)|[{{,]\s*{field}\s*[,}}]")


def use_of_message_field(field: FieldDescriptor) -> re.Pattern[str]:
    choice = field.containing_oneof
    # A field that is marked `optional` is the only one of a oneof of its own.
    if choice and len(choice.fields) > 1:
        variant = "".join(word.title() for word in field.name.split("_"))
        return re.compile(rf"::{variant}\b")
    return use_of(f"r#{field.name}" if field.name in RESERVED_WORDS else field.name)


@cache
def holders() -> dict[str, set[str]]:
    """Returns the names of the messages that have a field of a message type, by that type."""
    found: dict[str, set[str]] = {}
    for message in MESSAGES:
        for field in message.fields:
            for held in filter(None, [field.message_type, value_type(field)]):
                found.setdefault(held.full_name, set()).add(message.name)
    return found


def value_type(field: FieldDescriptor) -> Descriptor | None:
    """Returns the message type of the values of a map."""
    entry = field.message_type
    if entry and entry.GetOptions().map_entry:
        return entry.fields_by_name["value"].message_type
    return None


def names_of(message: Descriptor) -> set[str]:
    call = re.sub(r"(Request|Response)$", "", message.name)
    call = re.sub(r"(?<!^)(?=[A-Z])", "_", call).lower()
    return {message.name, call} | holders().get(message.full_name, set())


def unused_message_fields() -> set[str]:
    return {
        field.full_name.removeprefix("motorium.")
        for message in MESSAGES
        for field in message.fields
        if not is_used(use_of_message_field(field), names_of(message), CONTRACT, *USERS)
    }


def domain_fields() -> list[tuple[str, str]]:
    """Returns the public fields of all domain types, with their type."""
    return [
        (struct[1], field)
        for text in sources(*DOMAIN).values()
        for struct in re.finditer(r"^pub struct (\w+)(?:<.*?>)? \{\n(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL)
        for field in re.findall(r"^    pub (\w+):", struct[2], flags=re.MULTILINE)
    ]


def test_every_field_of_every_message_is_used():
    unused = unused_message_fields()

    assert unused <= EXCEPTIONS.keys(), "use the field, reserve it, or add an exception with its reason"
    assert unused >= EXCEPTIONS.keys(), "these exceptions are not needed any more"
    assert all(EXCEPTIONS.values()), "an exception has a reason"


def test_every_field_of_the_domain_is_used_outside_of_the_contract():
    fields = domain_fields()
    assert len(fields) > 100, "the domain types are not where this test looks for them"

    assert [f"{struct}.{field}" for struct, field in fields if not is_used(use_of(field), {struct}, *USERS)] == []


def test_an_unused_field_is_noticed():
    # A name that is set, but not as a field, and that no source reads.
    assert not is_used(use_of("surely_unused"), {"Task"}, CONTRACT, *USERS)
    assert not use_of("name").search("fn name(name::Type) { rename: 1, filename }")
    assert use_of("name").search("Task { name, ..task }") and use_of("name").search("task.name == name")
    assert without_tests("struct A;\n#[cfg(test)]\nmod tests {\n let name = a.name;\n}\n") == "struct A;\n"
