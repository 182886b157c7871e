"""Schemas and their files, as functions."""

from pathlib import Path

from sfumato.public.schema.schema import Schema


def load_schema(path: str | Path) -> Schema:
    """Read and check a schema file."""
    return Schema.load(path)


def parse_schema(text: str) -> Schema:
    """Read a schema from the text of a schema file."""
    return Schema.parse(text)


def schema_to_toml(schema: Schema) -> str:
    """Write a schema as a schema file; reading it back gives the same schema."""
    return schema.to_toml()
