"""The leak panel: every test on one synthetic table, and the known faults of the tool that made it. Reads real rows WITHOUT privacy."""

import gzip
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.errors import SfumatoError, SourceError
from sfumato.lab.attacks.inference import AttributeAttack, attribute_inference
from sfumato.lab.attacks.meaning import same_names
from sfumato.lab.attacks.membership import closest, density_ratio
from sfumato.lab.attacks.roc import Attack
from sfumato.lab.attacks.sheets import Comparison, from_batches, from_frames
from sfumato.lab.baselines.baseline import read_rows
from sfumato.lab.doctor import values
from sfumato.lab.doctor.findings import ALARM, Finding, Verdict, not_tested
from sfumato.lab.doctor.parts import copied_parts
from sfumato.private.intake.csv_file import read_header
from sfumato.public.schema.schema import Schema, schema_of


@dataclass(frozen=True)
class KnownFault:
    """One fault: what it is, who found it, and which tests of the panel it would show in."""

    tools: tuple[str, ...]
    fault: str
    source: str
    look: tuple[str, ...]


@cache
def all_faults() -> tuple[KnownFault, ...]:
    """Every fault of the table."""
    text = (files("sfumato.lab.doctor") / "known_faults.toml").read_text(encoding="utf-8")
    return tuple(
        KnownFault(tuple(entry["tools"]), entry["fault"], entry["source"], tuple(entry["look"]))
        for entry in tomllib.loads(text)["fault"]
    )


def faults_of(tool: str) -> tuple[KnownFault, ...]:
    """Those of a tool, whatever its capitals; refused where nothing is known of it, which is not the same as none.

    >>> faults_of("DataSynthesizer")[0].look
    ('exact extremes', 'rare categories', 'row count')
    """
    name = tool.strip().lower().replace(" ", "-").replace("_", "-")
    found = tuple(fault for fault in all_faults() if name in fault.tools)
    if not found:
        known = sorted({name for fault in all_faults() for name in fault.tools})
        raise SfumatoError(
            f"no fault is known of {tool!r}, which does not mean that it has none. Known: {', '.join(known)}."
        )
    return found


#: What reading a table may raise.
_UNREADABLE = (OSError, ValueError, UnicodeError, pd.errors.ParserError)


@dataclass(frozen=True)
class Diagnosis:
    """All that the panel says of a synthetic table. Not private."""

    findings: tuple[Finding, ...]
    attacks: tuple[Attack, ...]
    closest: Attack | None
    attribute: AttributeAttack | None
    faults: tuple[KnownFault, ...]
    columns: tuple[str, ...]
    columns_left_out: tuple[str, ...]
    columns_not_tested: tuple[str, ...]
    rows: dict[str, int]
    epsilon: float

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The tests that raised an alarm."""
        return tuple(finding for finding in self.findings if finding.verdict == "leak")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "leak": bool(self.leaks),
            "findings": [asdict(finding) for finding in self.findings],
            "attacks": [asdict(attack) for attack in self.attacks],
            "distance_to_closest_record": None if self.closest is None else asdict(self.closest),
            "attribute_inference": None if self.attribute is None else asdict(self.attribute),
            "known_faults": [vars(fault) for fault in self.faults],
            "columns": list(self.columns),
            "columns_left_out": list(self.columns_left_out),
            "columns_not_tested": list(self.columns_not_tested),
            "rows": self.rows,
            "epsilon": self.epsilon,
            "alarm": ALARM,
        }


def examine(
    real: str | Path | pd.DataFrame,
    synthetic: str | Path | pd.DataFrame,
    *,
    holdout: str | Path | pd.DataFrame | None = None,
    tool: str | None = None,
    epsilon: float = 1.0,
    sensitive: str | None = None,
    schema: Schema | str | Path | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> Diagnosis:
    """Look for leaks in a synthetic table that was made from the real one. Not private.

    Rows of the same population that it was not made from, `holdout`, sharpen most tests, and attacks need them. Counts
    and attacks are judged by what an honest release may leak at `epsilon`. Attribute inference guesses `sensitive`, by
    default the last column. With a `schema` values are compared as it means them; without one as far as they explain
    themselves.
    """
    faults = faults_of(tool) if tool is not None else ()
    on_step("reading the tables")
    tables = same_names([read_table(table) for table in (real, synthetic, holdout) if table is not None])
    found = from_frames(*tables) if schema is None else _as_meant(tables, schema_of(schema))
    left_out = [str(name) for name in tables[0].columns if str(name) not in (*found.names, *found.not_tested)]
    if not found.names:
        raise SourceError(
            "no column of the tables shares a value. Do they spell values differently? Give schema.toml with --schema."
            if found.not_tested
            else "the tables have no column in common. Check their headers."
        )
    if sensitive is not None and sensitive not in found.names:
        raise SourceError(f"the tables have no common column {sensitive!r}. They have: {', '.join(found.names[:20])}.")
    if min(len(sheet) for sheet in found.sheets) < 2:
        raise SourceError("a table has fewer than two rows: there is nothing to compare.")
    tests: dict[str, Callable[[Comparison], Finding]] = {
        "copied rows": values.copied_rows,
        "copied parts": copied_parts,
        "near copies": values.near_copies,
        "raw numbers": values.raw_values,
        "exact counts": partial(values.exact_counts, epsilon=epsilon),
        "exact extremes": values.exact_extremes,
        "rare categories": values.rare_values,
        "row count": values.row_count,
    }
    findings = [_left_out(left_out)] if left_out else []
    findings += [_spelled_alike(found)] if found.not_tested else []
    for name, test in tests.items():
        on_step(name)
        findings.append(test(found))
    on_step("attacks")
    attacks = density_ratio(found)
    guessed = attribute_inference(found, column=sensitive or found.names[-1])
    proved = [*attacks, *([guessed.membership] if guessed is not None else [])]
    return Diagnosis(
        findings=(*findings, _judge(proved, epsilon=epsilon)),
        attacks=tuple(attacks),
        closest=closest(found),
        attribute=guessed,
        faults=faults,
        columns=found.names,
        columns_left_out=tuple(left_out),
        columns_not_tested=found.not_tested,
        rows={name: len(sheet) for name, sheet in zip(("real", "synthetic", "holdout"), found.sheets, strict=False)},
        epsilon=epsilon,
    )


def _one_of_several(tables: list[pd.DataFrame], schema: Schema) -> Schema:
    """That of the one table whose rows these are; keys, which a release numbers anew, are left out."""
    columns = {table.name: (table.columns, table.keys) for table in schema.tables}
    if schema.persons is not None and schema.columns:
        columns[schema.persons] = (schema.columns, (str(schema.unit.person),))
    fitting = [
        own
        for own, keys in columns.values()
        if all({*keys, *(column.name for column in own)} <= set(map(str, rows.columns)) for rows in tables)
    ]
    if len(fitting) != 1:
        raise SourceError(
            f"the schema has several tables, and one is looked at. Give the files of one of {', '.join(columns)}, as sfumato releases it."
        )
    return Schema(columns=fitting[0])


def _as_meant(tables: list[pd.DataFrame], schema: Schema) -> Comparison:
    """The columns that a schema declares and all tables have, encoded as a release of them would be."""
    if schema.tables:
        schema = _one_of_several(tables, schema)
    shared = [column for column in schema.columns if all(column.name in table.columns for table in tables)]
    known = [column for column in shared if not column.discover and column.kind != "image"]
    some = Schema(columns=tuple(replace(column, depends_on=(), depends_on_map=()) for column in known))
    real, synthetic, *holdout = (read_rows(table, some) for table in tables)
    return from_batches(some, real=real, synthetic=synthetic, holdout=holdout[0] if holdout else None)


def _left_out(names: list[str]) -> Finding:
    """A column under another name hides what it holds."""
    listed = ", ".join(names[:10]) + (" and more" if len(names) > 10 else "")
    return not_tested(
        "names",
        f"Not tested: {listed}. Columns of the real table that another table or the schema lacks. If they go by another name "
        "there, give them one name in all tables.",
    )


def _spelled_alike(found: Comparison) -> Finding:
    """What cannot be compared is not clear."""
    names = ", ".join(found.not_tested[:10]) + (" and more" if len(found.not_tested) > 10 else "")
    return not_tested(
        "spelling",
        f"Not tested: {names}. No value of the real table stands in the synthetic one there, so no copy can be known by them. "
        "If they are spelled differently, give schema.toml with --schema.",
    )


def read_table(table: str | Path | pd.DataFrame) -> pd.DataFrame:
    """A frame as it is, or a CSV or Parquet file."""
    if isinstance(table, pd.DataFrame):
        return table
    path = Path(table)
    try:
        if path.name.lower().endswith((".parquet", ".pq")):
            return pd.read_parquet(path)
        mark, above = _layout(path)
        return pd.read_csv(path, sep=mark, skiprows=above, low_memory=False)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist. Check the path.") from None
    except UnicodeError:
        raise SourceError(
            f"{path} is not UTF-8. Save it as UTF-8, for instance with: iconv -f latin1 -t utf-8 OLD > NEW"
        ) from None
    except _UNREADABLE as error:
        if isinstance(error, IsADirectoryError):
            raise SourceError(
                f"{path} is a folder, and one table is looked at. Give its file; of several tables that of one, such as "
                "visits.parquet and synthetic.visits.parquet."
            ) from None
        raise SourceError(f"{path} cannot be read as a table ({type(error).__name__}). Give CSV or Parquet.") from None


def _layout(path: Path) -> tuple[str, int]:
    """What stands between the fields of a CSV file, and how many lines above the header say so."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig") as file:
        first = file.readline()
        told = first.lower().startswith("sep=")
        header = read_header(first + file.readline() if told else first, tabs=".tsv" in path.name.lower(), wanted=())
    return ("," if header is None else header.mark), int(told)


def _judge(attacks: list[Attack], *, epsilon: float) -> Finding:
    """A leak where an attack proves more than the epsilon that is granted."""
    if not attacks:
        return not_tested("membership", "Not tested: attacks take rows that were held back (--holdout).")
    best = max(attacks, key=lambda attack: attack.least_epsilon)
    sentence = (
        f"At .1 % false alarms the best attack ({best.name}) finds {best.rate_at_low.value:.2%} of the real rows, which proves "
        f"an epsilon of {best.least_epsilon:.2f}; {epsilon:g} is granted."
    )
    verdict: Verdict = "leak" if best.least_epsilon > epsilon else "clear"
    return Finding("membership", verdict, sentence, None, {"least_epsilon": best.least_epsilon})
