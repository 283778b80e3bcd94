"""Classifies exchanges as identical, normalised or unexplained, and prints the report."""
import json
from collections import defaultdict
from fnmatch import fnmatchcase

from exchange.answers import differences


class Report:
    def __init__(self, server, wire, mode, rules):
        self.scope = (server, wire, mode)
        self.rules = [r for r in rules if mode in r.modes and r.patterns(server, wire)]
        self.cases = []
        self.identical = 0
        self.used = defaultdict(list)
        self.unexplained = []

    def take(self, x):
        self.cases.append(x.case)
        found = differences(x.want, x.got)
        if not found:
            self.identical += 1
            return
        names, left = set(), []
        for d in found:
            rule = next((r for r in self.rules if r.lists(*self.scope, x.case) and r.fits(x, d)), None)
            if rule:
                names.add(rule.id)
            else:
                left.append(d)
        if left:
            self.unexplained.append((x, left))
            return
        for name in sorted(names):
            self.used[name].append(x.case)

    def unused(self):
        """Listed cases that did not need their rule; a pattern is used if any of its cases needed it. Only sent cases count."""
        for rule in self.rules:
            for pattern in rule.patterns(*self.scope[:2]):
                sent = [c for c in self.cases if fnmatchcase(c, pattern)]
                if not any(c in self.used[rule.id] for c in sent) and (sent or self.scope[2] == "straight"):
                    yield rule.id, pattern

    def summary(self):
        normalised = len({c for cases in self.used.values() for c in cases})
        return "%s %s %s: %d cases, %d identical, %d normalised, %d unexplained" % (
            *self.scope, len(self.cases), self.identical, normalised, len(self.unexplained))  # fmt: skip

    def print(self):
        for rule in self.rules:
            if self.used[rule.id]:
                print("normalised %s (%s): %d: %s" % (rule.id, rule.why, len(self.used[rule.id]), " ".join(self.used[rule.id])))
        for rule, pattern in self.unused():
            print("unused %s: %s" % (rule, pattern))
        for x, left in self.unexplained:
            print("UNEXPLAINED %s: %s" % (x.case, json.dumps(x.request)))
            for d in left:
                print("    %s\n        recorded %r\n        gateway  %r" % (d.field, d.want, d.got))
        print(self.summary())
