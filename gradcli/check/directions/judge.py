"""What is said of a claim that disagrees along a direction: the wrong elements, or why none could be named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from ...results.checks import Finding, InputCheck
from ..judgement.digits import digits_of
from ..judgement.symmetric import restrict_to_symmetric
from ..judgement.verdict import PASS, UNSURE
from ..reference.differences import SampledLine, Slope
from ..reference.jacobian import MARGIN
from ..subjects.flatten import Flat
from ..subjects.subject import OutOfCallsError
from .group_testing import STEPS, ElementFinding, GroupTesting, Part, certain
from .look import DRIFT, PLAN, TINY, Directions, Outcome, is_cheap, short_of_calls, too_few, too_noisy


class WrongElements(GroupTesting):
    """The search for wrong elements, and its report."""

    def output_of(self, i: int) -> tuple[int, ElementFinding]:
        """Return the output whose derivative for a wrong element is off most, and that derivative.

        Where only combinations of outputs are pulled back, halves of them lead there; this needs no values.
        """
        element, scale = self.elements[i], float(self.flat.scales[i])
        if self.claim.single:
            return self.row, element
        whole, places = self.claim.column(i), np.arange(len(self.flat.f0))
        if whole is not None:
            numeric = self.along_outputs(i, np.eye(len(places)))
            off = np.abs(whole * scale - numeric.value) / np.maximum(numeric.error, 1e-300)
            places = np.array([int(np.argmax(off))])
        while len(places) > 1:
            halves = np.array_split(places, 2)
            weights = np.zeros((2, len(self.flat.f0)))
            for weight, half in zip(weights, halves, strict=True):
                weight[half] = self.weights[0, half]
            gaps = np.abs(self.flat.pull(weights)[:, i] * scale - self.along_outputs(i, weights).value)
            places = halves[int(np.argmax(gaps))]
        j = int(places[0])
        weight = np.eye(1, len(self.flat.f0), j)
        claimed = float(whole[j]) if whole is not None else float(self.flat.pull(weight)[0, i])
        slope = self.along_outputs(i, weight)
        return j, element._replace(
            claimed=claimed, value=float(slope.value[0]) / scale, error=float(slope.error[0]) / scale
        )

    def along_outputs(self, i: int, weights: np.ndarray) -> Slope:
        """Return slopes of combinations of outputs along an element that was looked at, from values that are kept."""
        line = SampledLine(self.flat, self.unit(i), weights, self.look.drift)
        line.kept = self.line_of(i).kept
        return line.romberg(STEPS)

    def outcome(self) -> Outcome:
        """Search, and return what was found."""
        look, short = self.look, False
        try:
            explained = self.search()
        except OutOfCallsError:
            explained, short = False, True
        if self.wrong:
            return self.report_fail(explained, short)
        if explained:
            return self.report_pass()
        text = "along a random direction the claimed product is {:.9g}, the numeric one {:.9g} ± {:.2g}".format(
            *max(look.products(), key=lambda p: abs(p[0] - p[1]) / max(p[2], 1e-300))
        )
        needed = look.for_search() if short else None
        if certain(look):
            more = f"; {needed} calls (--calls) would name the element" if short else "; no single element shows it"
            return replace(look.outcome("fail", text + more, needed), findings=self.factors())
        if short and needed is not None:
            return short_of_calls(look)
        reasons = {element.reason for element in self.elements.values() if element.state == UNSURE}
        return look.outcome("inconclusive", ", ".join(sorted(reasons)) or f"{text}; no single element shows it")

    def report_pass(self) -> Outcome:
        """Return that what disagreed lies within the one-sided derivatives at kinks, or within the noise."""
        look = self.look
        unsure = {
            element.reason: self.flat.label(i)[:2] for i, element in self.elements.items() if element.state == UNSURE
        }
        if unsure:
            texts = [f"{name}{list(index) or ''}: {reason}" for reason, (name, index) in unsure.items()]
            return look.outcome("inconclusive", "; ".join(texts))
        self.correct()
        kinks = [element for element in self.elements.values() if element.reason == "a kink"]
        note = ("a kink: the claimed value lies between the one-sided derivatives",) if kinks else ()
        if look.settled:
            return replace(look.outcome("pass"), notes=note, closely=len(self.elements))
        return look.outcome("inconclusive", "not all of what disagrees along a direction could be explained")

    def correct(self) -> None:
        """Take what elements are off by out of what the directions say of the others."""
        for k, (line, slope) in enumerate(zip(self.look.lines, self.look.slopes, strict=True)):
            value, error = slope.value.copy(), slope.error.copy()
            value[self.row] += sum((x.claimed - x.value) * line.direction[i] for i, x in self.elements.items())
            error[self.row] += sum(x.error * abs(line.direction[i]) for i, x in self.elements.items())
            self.look.slopes[k] = slope._replace(value=value, error=error, bent=np.zeros(len(value), bool))

    def report_fail(self, explained: bool, short: bool) -> Outcome:
        """Return what was found of wrong elements."""
        look, flat = self.look, self.flat
        worst = max(self.wrong, key=lambda i: abs(self.elements[i].claimed - self.elements[i].value) * flat.scales[i])
        try:
            output, element = self.output_of(worst)
        except OutOfCallsError:
            output, element = int(np.argmax(np.abs(self.weights[0]))), self.elements[worst]
        products = look.products()
        if explained:
            self.correct()
        inputs = look.inputs("pass" if explained else "inconclusive")
        checks = []
        for item in inputs:
            mine = [i for i in self.wrong if flat.label(i)[0] == item.name]
            if not mine:
                checks.append(item)
                continue
            place = worst if worst in mine else mine[0]
            shown = element if place == worst else self.elements[place]
            gap = abs(shown.claimed - shown.value)
            relative = gap / abs(shown.value) if abs(shown.value) > MARGIN * shown.error else 0.0
            where = flat.worst(output, place, shown.claimed, shown.value, MARGIN * shown.error, shown.sides)
            checks.append(InputCheck(item.name, item.shape, "fail", gap, relative, digits_of(relative), None, where))
        findings = self.factors()
        if not findings and explained:
            cases = self.cases(output, element, worst)
            known = self.claim.rows is not None
            from ..diagnosis.diagnose import diagnose, place_in

            findings = diagnose(flat, cases) if known else place_in(flat, cases)  # type: ignore[arg-type]
        notes = ("the budget of calls (--calls) ended the search for more wrong elements",) if short else ()
        findings = findings if explained else findings or self.count()
        return Outcome("fail", tuple(checks), products, "", findings, notes, len(self.elements))

    def cases(self, output: int, worst: ElementFinding, place: int) -> SimpleNamespace:
        """Return what is known as a judgement on one row: elements that agree along the directions are as claimed."""
        row = self.claim.row(output)
        a = np.full((1, self.flat.size), np.nan) if row is None else row[None].copy()
        value, error = a.copy(), abs(worst.error / worst.value if worst.value else 0.0) * np.abs(a)
        state = np.full(a.shape, PASS)
        for i in self.wrong if self.claim.single else [place]:
            element = worst if i == place else self.elements[i]
            a[0, i], value[0, i], error[0, i], state[0, i] = element[:4]
            value[0, i] = np.nan if element.sides else element.value
        return SimpleNamespace(analytic=a, value=value, error=error, state=state)

    def factors(self) -> tuple[Finding, ...]:
        """Return by which factor all of an input is off, where every part of it that was looked at is off by that."""
        findings, flat, common = [], self.flat, self.common
        for k, name in enumerate(flat.subject.wrt):
            begin, end = int(flat.edges[k]), int(flat.edges[k + 1])
            parts = [part for (_, b, e), part in self.parts.items() if begin <= b and e <= end]
            parts += [Part(*element[:3]) for i, element in self.elements.items() if begin <= i < end]
            c = common or (self.factor(parts) if len(parts) >= 3 else None)
            if c is not None and abs(c - 1) > 1e-7 and abs(c) > 1e-9:
                from ..diagnosis.patterns import ratio_name

                case = SimpleNamespace(
                    flat=flat, typical=max(abs(p.error / p.value) for p in parts or self.parts.values())
                )
                kind, text = ratio_name(case, c) or ("factor", f"constant factor {c:.6g} on all elements")  # type: ignore
                findings.append(Finding(kind, f"{name}: {text}", name))
        return tuple(findings)

    def count(self) -> tuple[Finding, ...]:
        """Return that some elements are wrong, where not all of them were looked for."""
        names = [self.flat.label(i)[0] for i in self.wrong]
        texts = [
            (n, names.count(n), self.flat.arrays[self.flat.subject.wrt.index(n)].size) for n in dict.fromkeys(names)
        ]
        return tuple(
            Finding(
                "some elements", f"{n}: at least {count} of {size} elements are wrong; no more were looked for", n
            )
            for n, count, size in texts
        )


def judge_along(look: Directions) -> Outcome | None:
    """Return what directions tell of a claim, and of single elements where these disagree.

    None where there are so few elements, or they cost so little, that each is to be looked at.
    """
    flat = look.flat
    try:
        look.first_look()
    except OutOfCallsError:
        return Outcome("inconclusive", message=too_few(flat, look.plan), needed=look.plan)
    if look.settled:
        return look.outcome("pass")
    drift = look.drift / np.maximum(np.abs(flat.f0), TINY)
    if (drift > DRIFT).any():
        text = f"non-deterministic: two calls at the same point differ by {drift.max():.2g} relative"
        return look.outcome("inconclusive", text)
    try:
        narrower = None if look.agree else restrict_to_symmetric(flat)
    except OutOfCallsError:
        needed = look.plan + PLAN + 1
        return look.outcome("inconclusive", too_few(flat, needed), needed)
    if narrower is not None:
        look.begin(Flat(narrower))
        return judge_along(look)
    if flat.subject.most_calls is None and not drift.any() and is_cheap(flat):
        return None
    try:
        look.look_longer()
    except OutOfCallsError:
        if not certain(look):
            return short_of_calls(look)
    if look.settled:
        return look.outcome("pass")
    if look.agree:
        return too_noisy(look)
    return WrongElements(look).outcome()
