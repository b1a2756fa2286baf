"""Plans of attempts at an instance, and the rules by which "auto" makes one.

A *plan* is one attempt or several. An *attempt* is a method with its options and a budget of work. Where an
attempt gives up, the next one goes on from the state that it left: :meth:`preflow.solving.call.Call.by_plan`
runs them. Methods know nothing of each other.

A *rule* is a row of a problem's ``policy.py``: when it holds, which attempts follow from it, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

Features = TypeVar("Features")


class Attempt(NamedTuple):
    """A method, and how much it may do before the next one of the plan goes on."""

    method: str  #: "auto" for what that takes on the CPU, where a method on a GPU gave up
    options: Mapping[str, Any] | None = None  #: options of the method that differ from its defaults
    #: The method gives up after this much work for each arc and vertex; what it counts as work, its module
    #: says. Infinite: it may give up for another reason. None: it solves the instance, whatever that takes.
    budget: float | None = None


class Plan(NamedTuple):
    """The attempts at one instance."""

    attempts: tuple[Attempt, ...]
    because: str  #: why these: `stats.reason` of the result
    #: the most CPU threads to use; None for as many as the caller allows
    threads: int | None = None

    @classmethod
    def of(
        cls, method: str, because: str, options: Mapping[str, Any] | None = None, threads: int | None = None
    ) -> Plan:
        """Return the plan of one method, which solves the instance."""
        return cls((Attempt(method, options),), because, threads)

    @property
    def method(self) -> str:
        """The method of the first attempt."""
        return self.attempts[0].method

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The options of the first attempt."""
        return self.attempts[0].options


class Rule(NamedTuple, Generic[Features]):
    """One row of the rules of a problem."""

    #: Whether the row applies. Features that take time to find are computed when a row asks, and once.
    when: Callable[[Features], object]
    attempts: tuple[Attempt, ...]
    because: str  #: `stats.reason`; "{it.arcs:,}" stands for a feature
    #: where the figures are on which the row rests
    measured: str = "not recorded"
    threads: Callable[[Features], int] | None = None  #: the most CPU threads to use
    #: the families of a generator, where no other instances that were measured meet the row
    families: str = ""


def decide(rules: Sequence[Rule[Features]], features: Features) -> Plan:
    """Return the plan of the first rule that applies; the last one always does."""
    for rule in rules:
        if rule.when(features):
            break
    because = rule.because.format(it=features) if "{" in rule.because else rule.because
    return Plan(rule.attempts, because, None if rule.threads is None else rule.threads(features))
