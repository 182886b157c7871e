"""The public report of a trained model: one HTML page made of the certificate and the doors' answers, and of nothing else."""

from markupsafe import Markup

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
    verdict, target = verdict_on(certificate.warnings), schema.require_coded_target()
    learned = "It learned from private rows, through noise, what many of them have in common."
    what = f"This folder holds a model that predicts {target.name}. {learned}"
    content = {
        **common_facts(certificate, schema=schema, plan=certificate.plan().to_json(), verdict=verdict),
        "kicker": "A differentially private model",
        "title": "A model that was trained on private rows",
        "plain_words": plain_promise(certificate, schema, what=what),
        "cards": [],
        "quality": {"verdict": verdict, "warnings": list(certificate.warnings), "path": None},
        "accuracy": f"{looks[-1].accuracy:.1%}" if looks else None,
        "classes": [*target.categories, *(["(missing)"] if target.missing else [])],
        "looks": [
            {"accuracy": f"{look.accuracy:.1%}", "stddev": f"{look.accuracy_stddev:.1%}", "loss": f"{look.loss:.3f}"}
            for look in looks
        ],
        "curves": _curves(looks) if len(looks) > 1 else [],
    }
    return render("model_report.html.jinja", content)


def _curves(looks: tuple[Look, ...]) -> list[Markup]:
    accuracy, noise, losses = zip(*((look.accuracy, look.accuracy_stddev, look.loss) for look in looks), strict=True)
    right = curve_svg(accuracy, noise=noise, title="training rows that are right")
    return [right, curve_svg(losses, noise=None, title="log-loss of training rows")]
