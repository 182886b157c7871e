"""The contract that every mechanism keeps, as a suite that anyone can run on their own.

    from sfumato.check import check_mechanism
    check_mechanism(MyMechanism(), schema)

Each check has a broken twin in the project's tests that it must reject.
"""

from sfumato.check.suite import CHECKS, check_mechanism

__all__ = ["CHECKS", "check_mechanism"]
