"""Which engine is meant by what a person writes: a name, a cluster's address, a client or a session."""

from typing import Any

from sfumato.errors import EngineError
from sfumato.private.engines.dask import Dask
from sfumato.private.engines.engine import Engine
from sfumato.private.engines.local import Local
from sfumato.private.engines.spark import Spark

NAMES = ("local", "dask", "spark")


def engine_of(asked: Any) -> Engine:
    """The engine of a name (`local`, `local:4`, `dask`, `dask:tcp://host:8786`, `spark`), or what a cluster is reached by.

    >>> type(engine_of("local:2")).__name__
    'Local'
    """
    if asked is None:
        return Local()
    if not isinstance(asked, str):
        return _engine_of_object(asked)
    name, _, rest = asked.partition(":")
    match name:
        case "local" if not rest or (rest.isdecimal() and int(rest) > 0):
            return Local(int(rest) if rest else None)
        case "local":
            raise EngineError(f"engine {asked!r}: behind local: stands a number of processes, as in local:4.")
        case "dask":
            return Dask(rest or None)
        case "spark":
            return Spark(rest or None)
    raise EngineError(f"there is no engine {asked!r}. Choose one of {', '.join(NAMES)}.")


def _engine_of_object(asked: Any) -> Engine:
    """A Dask client or a Spark session, known by where its class comes from: neither is imported for asking."""
    module = type(asked).__module__
    if module.startswith("distributed"):
        return Dask(client=asked)
    if module.startswith("pyspark"):
        return Spark(session=asked)
    if isinstance(asked, Dask | Local | Spark):
        return asked
    raise EngineError(
        f"an engine is a name ({', '.join(NAMES)}), a distributed.Client or a SparkSession, not {type(asked).__name__}."
    )
