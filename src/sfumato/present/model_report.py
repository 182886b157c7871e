"""The public report of a trained model: one HTML page made of the certificate and the doors' answers, and of nothing else."""

from typing import Any

from sfumato.mechanisms.learners.progress import Look, looks_of
from sfumato.outlook.warnings import verdict_on
from sfumato.present.curve_drawing import curve_svg
from sfumato.present.pages import render
from sfumato.present.report import common_facts, plain_promise
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.plan.answers import Answers
from sfumato.public.schema.schema import Schema


def public_model_report(certificate: Certificate, *, schema: Schema, answers: Answers) -> str:
    """The page as text. The same arguments give the same bytes."""
    looks = looks_of(certificate.plan(), answers)
    drawn = {"curves": _curves(looks) if len(looks) > 1 else []}
    return render("model_report.html.jinja", {**_summary(certificate, schema=schema, looks=looks), **drawn})


def _summary(certificate: Certificate, *, schema: Schema, looks: tuple[Look, ...]) -> dict[str, Any]:
    verdict = verdict_on(certificate.warnings)
    target = schema.require_coded_target()
    return {
        **common_facts(certificate, schema=schema, plan=certificate.plan().to_json(), verdict=verdict),
        "kicker": "A differentially private model",
        "title": "A model that was trained on private rows",
        "plain_words": plain_promise(certificate, schema, what=_what(target.name)),
        "cards": [],
        "quality": {"verdict": verdict, "warnings": list(certificate.warnings), "path": None},
        "accuracy": f"{looks[-1].accuracy:.1%}" if looks else None,
        "classes": [*target.categories, *(["(missing)"] if target.missing else [])],
        "looks": [
            {
                "accuracy": f"{look.accuracy:.1%}",
                "stddev": f"{look.accuracy_stddev:.1%}",
                "loss": f"{look.loss:.3f}",
            }
            for look in looks
        ],
    }


def _what(target: str) -> str:
    learned = "It learned from private rows, through noise, what many of them have in common."
    return f"This folder holds a model that predicts {target}. {learned}"


def _curves(looks: tuple[Look, ...]) -> list[Any]:
    accuracy = [look.accuracy for look in looks]
    noise = [look.accuracy_stddev for look in looks]
    return [
        curve_svg(accuracy, noise=noise, title="training rows that are right"),
        curve_svg([look.loss for look in looks], noise=None, title="log-loss of training rows"),
    ]
