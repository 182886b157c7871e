"""Check a release without the data: recompute every field that can be recomputed, and say which cannot."""

from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from sfumato.errors import VerificationError
from sfumato.folder.releasing import CERTIFICATE, Release, model_report_of, report_of
from sfumato.folder.tensors import WEIGHTS
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.claim import exact_text
from sfumato.public.certificate.layout import Section, as_html
from sfumato.verification import file_checks
from sfumato.verification.account_checks import check_account, check_delta
from sfumato.verification.answer_checks import check_answers
from sfumato.verification.file_checks import SignatureState, Signer
from sfumato.verification.findings import Findings
from sfumato.verification.plan_checks import check_assumptions, check_kind, check_status, recompute
from sfumato.verification.product_checks import Rows, read_rows, read_weights, rebuild_rows, rebuild_weights
from sfumato.verification.rebuilt import settle_rebuilt
from sfumato.verification.report_checks import check_report
from sfumato.verification.score_checks import check_score
from sfumato.verification.statement_checks import check_statement

#: Up to so many synthetic cells and noisy numbers, building again takes seconds and is done unasked.
QUICK_CELLS, QUICK_NUMBERS = 4_000_000, 2_000_000
#: Mechanisms that train, or learners that practise, on what they measured: minutes, whatever the size.
SLOW = ("aim", "clustmix", "dp-gan", "dp-kip", "dp-merf", "kip", "pate-gan", "scattering")


def is_quick(mechanism: str, *, numbers: int, cells: int) -> bool:
    """Whether building again takes seconds: so many noisy numbers, cells or pixels, and nothing that trains.

    >>> is_quick("3a-image", numbers=10_000, cells=QUICK_CELLS), is_quick("3a-image", numbers=10_000, cells=QUICK_CELLS + 1)
    (True, False)
    >>> is_quick("pate-gan", numbers=10_000, cells=100)
    False
    """
    return numbers <= QUICK_NUMBERS and cells <= QUICK_CELLS and mechanism not in SLOW


@dataclass(frozen=True, repr=False)
class Verification:
    """What a check found. `ok` means: marked certified, and nothing that was recomputed differs.

    Attributes:
        path: The folder.
        epsilon: The claimed epsilon.
        delta: The claimed delta.
        replayed_epsilon: What independent code finds for the recomputed events; None: it came to no number.
        claim: The claim as a sentence, made of the numbers and never read from the folder.
        checked: What was recomputed and found to agree.
        declared: What nobody can recompute from a folder: the publisher's word.
        problems: What is wrong, one sentence each.
        warnings: What the release says about its own use.
        signature: Whether it is signed, and by whom as far as was asked.
        different: The part of the cells that differ by more than rounding from the rows (or the weights of a trained model)
            that were built again: 0 where they get their tick. None: they were not built again.
    """

    path: Path
    epsilon: float
    delta: float
    replayed_epsilon: float | None
    claim: str
    checked: tuple[str, ...]
    declared: tuple[str, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    signature: SignatureState = "absent"
    different: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the release is certified and everything that was recomputed agrees."""
        return not self.problems

    @property
    def reserve(self) -> str:
        """What a reader must be told along with a good verdict, if anything."""
        if self.different is None:
            return ", but for its rows or weights: they were not built again"
        return ", but for rows or weights that came out otherwise here" if self.different else ""

    @property
    def verdict(self) -> str:
        """One phrase: whether the folder bears out its claim."""
        if self.ok:
            return f"bears out its claim{self.reserve}"
        return f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}, not to be believed"

    def __repr__(self) -> str:
        promise = f"epsilon {exact_text(self.epsilon)}, delta {exact_text(self.delta)}"
        return f"<Verification: {self.path}, {promise}: {self.verdict}>"

    def _repr_html_(self) -> str:
        told = [Section(title=str(self.path), subtitle=f": {self.verdict}", before=(self.claim,) if self.ok else ())]
        listed = {"Problems": self.problems, "Warnings": self.warnings}
        listed |= {"Recomputed": self.checked, "Only declared": self.declared}
        told += [Section(title=title, before=sentences) for title, sentences in listed.items() if sentences]
        return as_html(told)

    def raise_if_bad(self) -> None:
        """Raise with the first problem, if there is one."""
        if self.problems:
            raise VerificationError(self.problems[0])


def _folder_of(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        hint = " Its folder is release.path." if hasattr(path, "path") else ""
        raise VerificationError(f"verify takes the path of a folder, and this is of type {type(path).__name__}.{hint}")
    return Path(path)


def verify(path: str | Path, *, rebuild: bool | None = None, signer: Signer = None) -> Verification:
    """Check a release folder.

    Args:
        path: The folder.
        rebuild: Build the model again and compare its rows with those of the folder, up to a processor's rounding
            (`comparison.py`). None: if that takes seconds. The claim of privacy does not rest on the
            rows alone: without a rebuild they, the seed, the warnings and the notes are as the publisher declares.
        signer: The public key, or its file, of whoever must have signed. Without it a signature is checked, but not
            whose it is.

    Raises:
        VerificationError: There is no certificate that can be read.
    """
    folder = _folder_of(path)
    before = file_checks.stamps(folder)
    content = file_checks.read_certificate(folder)
    try:
        certificate = Certificate.from_text(content.decode())
    except UnicodeDecodeError:
        raise VerificationError(f"{CERTIFICATE} is not text in UTF-8. Get the release again.") from None
    found = Findings()
    found.checked.append("the claim in words is the one that its numbers give")
    signature = file_checks.check_signature(folder, content, signer=signer, found=found)
    check_status(certificate, found)
    check_assumptions(certificate, found)
    check_statement(certificate, found)
    replayed, different = _check_contents(folder, certificate, found, rebuild=rebuild)
    if file_checks.stamps(folder) != before:
        found.problems.append("a file of the folder was changed while it was checked. Verify it again.")
    return Verification(
        path=folder,
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        replayed_epsilon=replayed,
        claim=certificate.claim.in_words,
        checked=tuple(found.checked),
        declared=tuple(found.declared),
        problems=tuple(found.problems),
        warnings=certificate.warnings,
        signature=signature,
        different=different,
    )


def _check_contents(
    folder: Path, certificate: Certificate, found: Findings, *, rebuild: bool | None
) -> tuple[float | None, float | None]:
    """Everything behind the certificate, each check on what the one before has made sure of."""
    contents, rows_path = file_checks.check_files(folder, certificate, found)
    schema = file_checks.check_schema(contents, certificate, found)
    weights = read_weights(contents, certificate, found) if WEIGHTS in contents else None
    rows = None if rows_path is None else read_rows(rows_path, certificate, schema, found)
    released = weights if rows is None else rows
    if schema is None:
        return None, None
    check_delta(certificate, schema, found)
    if rows is not None:
        fit = "the released rows have the columns, types, categories and bounds of the schema, and none besides"
        found.settle(rows.misfits, checked=fit)
        if schema.rules and not rows.misfits:
            found.settle(
                rows.broken_rules, checked=f"the released rows obey the {len(schema.rules)} rules of the schema"
            )
    planned = recompute(certificate, schema, found)
    if planned is None:
        return None, None
    replayed = check_account(certificate, planned.plan, found)
    answers = check_answers(contents, certificate, schema, planned, found)
    if rows is not None and answers is not None:
        page = partial(report_of, certificate, schema=schema, synthetic=rows.first, answers=answers)
        check_report(contents, certificate, page, found, given="certificate, schema, rows and answers")
    if planned.score is not None:
        check_score(certificate, planned.score, answers, found)
    if answers is None or released is None:
        return replayed, None
    check_kind(planned, is_model=rows is None, found=found)
    if rows is None:
        page = partial(model_report_of, certificate, schema=schema, answers=answers)
        check_report(contents, certificate, page, found, given="certificate, schema and answers")
    if found.problems:
        return replayed, None
    numbers = sum(step.width * step.mixtures * step.groups * step.uses for step in planned.plan.steps)
    cells = 0 if rows is None else rows.cells
    if not (is_quick(certificate.mechanism.name, numbers=numbers, cells=cells) if rebuild is None else rebuild):
        what = "the synthetic rows" if rows is not None else "the weights of the model"
        found.declared.append(
            f"{what}, the seed, the warnings and the notes: not built again here, because that takes minutes. So nobody has "
            "looked whether real rows are among them (sfumato verify --rebuild does)"
        )
        return replayed, None
    release = Release(folder, schema, certificate, answers)
    if isinstance(released, Rows):
        built, failing = (
            partial(rebuild_rows, release, planned.mechanism, released),
            "the synthetic rows cannot be built again",
        )
    else:
        built, failing = partial(rebuild_weights, release, released), "the model cannot be trained again"
    rebuilt = found.attempt(built, failing)
    if rebuilt is None:
        return replayed, None
    settle_rebuilt(rebuilt, certificate, found)
    return replayed, rebuilt.difference.share
