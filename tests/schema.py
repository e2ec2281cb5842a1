"""A JSON schema for tests: `validator(file)`, after the schema itself has been checked. A script that
imports this exits with 77 (skipped) without python3-jsonschema."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: no python3-jsonschema")
    sys.exit(77)


def validator(path):
    with open(path, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def expect(against, holds, document, what):
    """Asserts that the document fits (holds) or does not."""
    errors = [error.message for error in against.iter_errors(document)]
    assert (not errors) == holds, (what, errors[:3])
