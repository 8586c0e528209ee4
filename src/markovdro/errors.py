"""What can go wrong, as one short tree.

::

    MarkovDROError
    ├── InputError (ValueError)       an argument breaks its rule
    │   ├── DataError                 a trajectory, a label or a count cannot be used
    │   └── UnvisitedStateError       a state was never left, and nothing smooths it
    ├── ReducibleChainError           the chain has no unique stationary law
    └── MissingExtraError (ImportError)  a package that a part needs is not installed

    MarkovDROWarning (UserWarning)    kept in results, in their field ``warnings``
    ├── UnvisitedStatesWarning        some states were never left
    └── HeavySmoothingWarning         smoothing weighs more than it should

Every message gives the value found, the rule it breaks and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "HeavySmoothingWarning",
    "InputError",
    "MarkovDROError",
    "MarkovDROWarning",
    "MissingExtraError",
    "ReducibleChainError",
    "UnvisitedStateError",
    "UnvisitedStatesWarning",
]


class MarkovDROError(Exception):
    """Base class of every error that this library raises on purpose."""


class InputError(MarkovDROError, ValueError):
    """An argument breaks its rule."""


class DataError(InputError):
    """A trajectory, a label or a count cannot be used."""


class UnvisitedStateError(InputError):
    """A state was never left, so that nothing is known of its row."""


class ReducibleChainError(MarkovDROError):
    """The chain has several closed classes, so that its stationary law is not unique."""


class MissingExtraError(MarkovDROError, ImportError):
    """A package that a part of the library needs is not installed."""


class MarkovDROWarning(UserWarning):
    """Base class of the doubts that a result carries in its field ``warnings``."""


class UnvisitedStatesWarning(MarkovDROWarning):
    """Some states were never left: their rows come from the smoothing alone."""


class HeavySmoothingWarning(MarkovDROWarning):
    """Smoothing holds a large share of the doublet mass: it decides, not the data."""
