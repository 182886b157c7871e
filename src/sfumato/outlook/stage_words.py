"""The names of a fit's stages in words: what is being done to the rows, for people who wait."""

#: Every step that a mechanism of the package plans. Mechanisms of others show the names that they have.
WORDS = {
    "build": "building the model",
    "categories": "finding categories",
    "centres": "moving the centres of components",
    "choices": "choosing a table",
    "classes": "counting classes",
    "clusters": "summing up clusters",
    "coarse": "counting columns in coarse cells",
    "codes": "counting every category within classes",
    "columns": "counting columns",
    "components": "measuring components",
    "contrasts": "comparing classes pair by pair",
    "differences": "looking for columns that are nearly equal",
    "directions": "finding the main directions",
    "discovered bounds": "finding bounds",
    "discovered rows": "counting rows",
    "embedding": "averaging random features",
    "evidence": "weighing what tells classes apart",
    "fine": "counting columns in finer cells",
    "gradients": "learning by noisy gradients",
    "groups": "looking for groups of columns",
    "histograms": "counting columns within classes",
    "kernel": "measuring the kernel",
    "lengths": "measuring lengths",
    "lengths about classes": "measuring distances from classes",
    "lengths about clusters": "measuring distances from clusters",
    "lengths about the mean": "measuring distances from the mean",
    "links": "looking for columns that determine each other",
    "margins": "measuring the shapes of columns",
    "mean": "averaging all rows",
    "means": "averaging classes",
    "mixtures": "mixing rows",
    "moments": "measuring correlations",
    "pairs": "counting pairs of columns",
    "parents": "choosing parents",
    "products": "measuring correlations of pixels",
    "progress": "looking at the training loss",
    "reports": "reporting row by row",
    "residuals": "measuring how large errors of the target are",
    "score": "testing the learner on rows set apart",
    "scores": "measuring scores",
    "sizes": "measuring sizes of persons",
    "spikes": "looking for values that many rows share",
    "spreads": "measuring spreads",
    "squares": "measuring variances",
    "tables": "counting the chosen table",
    "teacher": "correcting the labels",
    "tree": "choosing pairs for a tree",
    "triples": "counting triples of columns",
    "votes": "asking the teachers to vote",
}


def in_words(step: str) -> str:
    """What a step does, or its name where nobody has said.

    >>> in_words("coarse"), in_words("a step of mine")
    ('counting columns in coarse cells', 'a step of mine')
    """
    return WORDS.get(step, step)
