"""From the files that the authors of a table published to the Parquet files that the loaders read."""

import io
import tarfile
import zipfile
from collections.abc import Mapping

import pandas as pd

from sfumato.errors import SourceError
from sfumato.lab.benchmark.uncompressing import uncompress


def _names(text: str) -> list[str]:
    return text.split()


ADULT = _names(
    """age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain
capital_loss hours_per_week native_country income"""
)

CENSUS = _names(
    """age class_of_worker detailed_industry_recode detailed_occupation_recode education wage_per_hour
enroll_in_edu_inst_last_wk marital_stat major_industry_code major_occupation_code race hispanic_origin sex
member_of_a_labor_union reason_for_unemployment full_or_part_time_employment_stat capital_gains capital_losses
dividends_from_stocks tax_filer_stat region_of_previous_residence state_of_previous_residence
detailed_household_and_family_stat detailed_household_summary_in_household instance_weight
migration_code_change_in_msa migration_code_change_in_reg migration_code_move_within_reg
live_in_this_house_1_year_ago migration_prev_res_in_sunbelt num_persons_worked_for_employer family_members_under_18
country_of_birth_father country_of_birth_mother country_of_birth_self citizenship own_business_or_self_employed
fill_inc_questionnaire_for_veterans_admin veterans_benefits weeks_worked_in_year year income"""
)

ISOLET = [*(f"f{at}" for at in range(1, 618)), "label"]
_VOWELS = (1, 5, 9, 15, 21)  # A, E, I, O, U among the 26 letters


def adult(archive: bytes) -> dict[str, pd.DataFrame]:
    """adult.zip of the UCI repository."""
    parts = _unzip(archive, ("adult.data", "adult.test"))
    return {
        "adult_train.parquet": _table(parts["adult.data"], ADULT),
        # Its first line is a remark, and its labels end with a dot.
        "adult_test.parquet": _table(parts["adult.test"].partition(b"\n")[2], ADULT),
    }


def census(archive: bytes) -> dict[str, pd.DataFrame]:
    """census+income+kdd.zip of the UCI repository, which holds census.tar.gz."""
    inner = _unzip(archive, ("census.tar.gz",))["census.tar.gz"]
    return {
        "census_income_kdd_train.parquet": _table(_untar(inner, "census-income.data"), CENSUS),
        "census_income_kdd_test.parquet": _table(_untar(inner, "census-income.test"), CENSUS),
    }


def isolet(archive: bytes) -> dict[str, pd.DataFrame]:
    """isolet.zip of the UCI repository."""
    names = {"isolet_train.parquet": "isolet1+2+3+4.data.Z", "isolet_test.parquet": "isolet5.data.Z"}
    parts = _unzip(archive, tuple(names.values()))
    return {ours: _spoken(uncompress(parts[theirs])) for ours, theirs in names.items()}


def diabetes(archive: bytes) -> dict[str, pd.DataFrame]:
    """diabetes+130-us+hospitals+for+years+1999-2008.zip of the UCI repository."""
    content = _unzip(archive, ("diabetic_data.csv",))["diabetic_data.csv"]
    # "None" is a value here (a test that was not done), and "?" is the code of what is missing.
    frame = pd.read_csv(io.BytesIO(content), keep_default_na=False, low_memory=False)
    frame.columns = pd.Index([str(name).replace("-", "_") for name in frame.columns])
    return {"diabetes130.parquet": _coded(frame)}


def credit(content: bytes) -> dict[str, pd.DataFrame]:
    """creditcard.csv."""
    frame = pd.read_csv(io.BytesIO(content))
    small: dict[str, str] = {f"V{at}": "float32" for at in range(1, 29)}
    return {"creditcard.parquet": frame.astype({**small, "Time": "int32", "Class": "int8"})}


def _table(content: bytes, names: list[str]) -> pd.DataFrame:
    """Lines of values with a comma and a space between them, as the UCI repository has them."""
    frame = pd.read_csv(
        io.BytesIO(content), header=None, names=names, skipinitialspace=True, keep_default_na=False, low_memory=False
    )
    frame["income"] = frame["income"].astype(str).str.rstrip(". ").str.replace("- ", "-")
    return _coded(frame)


def _coded(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts without spaces around them, as categories."""
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{name: frame[name].astype(str).str.strip().astype("category") for name in texts})


def _spoken(content: bytes) -> pd.DataFrame:
    frame = pd.read_csv(io.BytesIO(content), header=None, names=ISOLET, skipinitialspace=True)
    features, label = frame[ISOLET[:-1]].astype("float32"), frame["label"].astype("int8")
    return pd.concat([features, label, label.isin(_VOWELS).astype("int8").rename("vowel")], axis=1)


def _unzip(archive: bytes, wanted: tuple[str, ...]) -> Mapping[str, bytes]:
    """The wanted files, in whatever folder of the archive they lie."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            held = {name.rpartition("/")[2]: name for name in opened.namelist()}
            return {name: opened.read(held[name]) for name in wanted}
    except (zipfile.BadZipFile, KeyError):
        raise SourceError(
            f"the archive does not hold {', '.join(wanted)}. Its publisher may have changed it."
        ) from None


def _untar(archive: bytes, wanted: str) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as opened:
            for member in opened.getmembers():
                file = opened.extractfile(member) if member.name.rpartition("/")[2] == wanted else None
                if file is not None:
                    return file.read()
    except tarfile.TarError:
        raise SourceError(f"the archive with {wanted} cannot be read. Fetch it again.") from None
    raise SourceError(f"the archive does not hold {wanted}. Its publisher may have changed it.")
