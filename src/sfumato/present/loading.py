"""One line that loads the synthetic rows, for each tool that a receiver may have: it needs neither this package nor more."""

from pathlib import Path

import pandas as pd

from sfumato.model import Synthetic
from sfumato.public.schema.schema import Schema


def load_lines(synthetic: Synthetic, schema: Schema, *, folder: str | Path = ".") -> dict[str, str]:
    """The line for each tool, for a file in the folder. Which columns there are counts, not how many rows."""
    if synthetic.table is None:
        return _lines_for_images(synthetic, schema, file=_quoted(Path(folder) / "synthetic.npz"))
    return _lines_for_table(synthetic.table, schema, file=_quoted(Path(folder) / "synthetic.parquet"))


def _lines_for_table(table: pd.DataFrame, schema: Schema, *, file: str) -> dict[str, str]:
    read, y = f"rows = pandas.read_parquet({file})", ""
    if schema.target is not None and schema.target in table.columns:
        y = f"y = torch.tensor({_target(table, schema, taken=f'rows.pop({_quoted(schema.target)})')}); "
    dummies = f"pandas.get_dummies({_features(table, schema)})"
    x = f'x = torch.tensor({dummies}.to_numpy("float32", na_value=float("nan")))'
    return {"pandas": f"import pandas; {read}", "torch": f"import pandas, torch; {read}; {y}{x}"}


def _features(table: pd.DataFrame, schema: Schema) -> str:
    """All that a tensor can hold: no dates, and no mixed labels, which would give the label away."""
    dates = table.select_dtypes("datetime").columns.drop(schema.target or "", errors="ignore")
    features = 'rows.select_dtypes(exclude="datetime")' if len(dates) else "rows"
    times = [c.name for c in schema.columns if c.kind == "time" and c.name in table.columns and c.name != schema.target]
    features += f".drop(columns=[{', '.join(map(_quoted, times))}])" if times else ""
    mixed = _mixed_labels(table, schema)
    if not mixed:
        return features
    start = f"{schema.target}="
    if {str(name) for name in table.columns if str(name).startswith(start)} == mixed:  # short, however many there are
        return f"{features}[[name for name in rows if not name.startswith({_quoted(start)})]]"
    return f"{features}.drop(columns=[{', '.join(map(_quoted, sorted(mixed)))}])"


def _mixed_labels(table: pd.DataFrame, schema: Schema) -> set[str]:
    """Columns that say how much of each class a mixture is."""
    target = schema.target_column
    if target is None or not target.is_coded:
        return set()
    names = {f"{target.name}={value}" for value in (*target.categories, "(missing)")}
    return names & {str(name) for name in table.columns} - {column.name for column in schema.columns}


def _target(table: pd.DataFrame, schema: Schema, *, taken: str) -> str:
    """Classes as whole numbers in the schema's order (-1: missing), numbers as they are."""
    column = schema.target_column
    if column is not None and column.is_coded:
        if isinstance(table[column.name].dtype, pd.CategoricalDtype):
            return f'{taken}.cat.codes.to_numpy("int64")'
        return f'{taken}.to_numpy("int64", na_value=-1)'
    if column is not None and column.kind == "datetime":
        return f'({taken} - pandas.Timestamp(0)).dt.total_seconds().to_numpy("float32")'
    if column is not None and column.kind == "time":
        padded = "" if column.seconds else ' + ":00"'
        return (
            f'pandas.to_timedelta({taken}.astype(str){padded}, errors="coerce").dt.total_seconds().to_numpy("float32")'
        )
    return f'{taken}.to_numpy("float32", na_value=float("nan"))'


def _lines_for_images(synthetic: Synthetic, schema: Schema, *, file: str) -> dict[str, str]:
    read = f"rows = numpy.load({file})"
    has_labels = synthetic.labels is not None
    flat = 'pandas.DataFrame(rows["images"].reshape(len(rows["images"]), -1))'
    flat += '.assign(label=rows["classes"][rows["labels"]])' if has_labels else ""
    pixels = 'torch.from_numpy(rows["images"]).float()'
    if synthetic.images is not None:
        low, high = schema.images[0].low, schema.images[0].high
        pixels += f".sub({low:.15g})" if low else ""
        pixels += f".div({high - low:.15g})" if high - low != 1 else ""
        pixels += ".unsqueeze(1)" if synthetic.images.ndim == 3 else ".permute(0, 3, 1, 2)"
    y = '; y = torch.from_numpy(rows["labels"])' if has_labels else ""
    if (
        synthetic.soft_labels is not None
    ):  # how likely each class is: torch's cross-entropy takes these, and learns more
        y += '; p = torch.from_numpy(rows["soft_labels"])'
    return {
        "torch": f"import numpy, torch; {read}; x = {pixels}{y}",
        "pandas": f"import numpy, pandas; {read}; table = {flat}",
    }


def _quoted(text: str | Path) -> str:
    """A text as Python reads it: with forward slashes and double quotes where that is the same."""
    plain = text.as_posix() if isinstance(text, Path) else text
    return f'"{plain}"' if plain.isprintable() and not set(plain) & set('"\\') else repr(plain)
