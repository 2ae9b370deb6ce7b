"""Lower bounds on the peak of every order.

Two of them, from cheap to strong:

- `structural`: while operator o runs, its inputs, its outputs and everything that some ancestor of o
  makes for some descendant of o are live, whatever the order.
- `isolated`: the least memory in which o can run at all, over every set of operators that may have
  finished before it. Live bytes are submodular, so this is a minimum cut: exact, per operator. No
  order can do better than the largest of them, though one order may not reach all at once.

          S (source) side = finished          T (sink) side = not yet
      tensor t: maker --size--> [t] --inf--> each reader: cut when the maker has run and a reader
      has not; reader --inf--> maker: nothing runs before its predecessors
"""

from __future__ import annotations

from collections import deque

from lowtide.effort import Budget
from lowtide.order.bitgraph import GIVEN, BitGraph, bits


def relatives(bg: BitGraph) -> tuple[list[int], list[int]]:
    """(ancestors, descendants) of every operator as masks, itself excluded."""
    order = topological(bg)
    above, below = [0] * bg.n, [0] * bg.n
    for i in order:
        for p in bits(bg.preds[i]):
            above[i] |= above[p] | 1 << p
    for i in reversed(order):
        for s in bits(bg.succs[i]):
            below[i] |= below[s] | 1 << s
    return above, below


def topological(bg: BitGraph) -> list[int]:
    """Some valid order (the lowest index first)."""
    done, order = 0, []
    waiting = [mask.bit_count() for mask in bg.preds]
    heap = [i for i in range(bg.n) if not waiting[i]]
    heap.reverse()
    while heap:
        i = heap.pop()
        order.append(i)
        done |= 1 << i
        for s in bits(bg.succs[i]):
            waiting[s] -= 1
            if not waiting[s]:
                heap.append(s)
    return order


def structural(bg: BitGraph, above: list[int], below: list[int]) -> list[int]:
    """Per operator, the bytes that are live while it runs in every order."""
    result = []
    for i in range(bg.n):
        need = bg.out[i]
        bit = 1 << i
        for v in bg.values:
            if v.maker == i:
                continue
            before = v.maker == GIVEN or above[i] >> v.maker & 1
            if before and (v.kept or v.readers & (below[i] | bit)):
                need += v.size
        result.append(need)
    return result


def isolated(
    bg: BitGraph, above: list[int], below: list[int], op: int, budget: Budget | None = None
) -> int:
    """The least bytes in which `op` can run, over all states from which it can; see `Network.max_flow`
    for what it spends."""
    before, after = above[op], below[op] | 1 << op
    free = bg.all & ~before & ~after
    sure = bg.out[op]
    source, sink = bg.n, bg.n + 1
    net = Network(bg.n + 2)
    unlimited = sum(v.size for v in bg.values) + 1
    for v in bg.values:
        if v.maker == op or not v.size:
            continue
        if v.maker == GIVEN or before >> v.maker & 1:
            tail = source
        elif free >> v.maker & 1:
            tail = v.maker
        else:
            continue
        if v.kept or v.readers & after:
            if tail == source:
                sure += v.size
            else:
                net.add(tail, sink, v.size)
        elif v.readers & free:
            middle = net.node()
            net.add(tail, middle, v.size)
            for reader in bits(v.readers & free):
                net.add(middle, reader, unlimited)
    for i in bits(free):
        for p in bits(bg.preds[i] & free):
            net.add(i, p, unlimited)
    return sure + net.max_flow(source, sink, budget)


def best_isolated(
    bg: BitGraph,
    above: list[int],
    below: list[int],
    promise: list[int],
    floor: int,
    ceiling: int,
    budget: Budget,
) -> int:
    """The largest isolated bound found before `budget` is used up, at least `floor`.

    Operators with a large `promise` (their `structural` bound) come first; `ceiling` is the peak of
    a known order: a bound that reaches it proves that order optimal, and the search stops.
    """
    for op in sorted(range(bg.n), key=lambda i: -promise[i]):
        if floor >= ceiling or budget.used_up:
            break
        floor = max(floor, isolated(bg, above, below, op, budget))
    return floor


class Network:
    """Dinic's maximum flow on a small network; arcs 2k and 2k + 1 are each other's reverse."""

    def __init__(self, nodes: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        self.head: list[int] = []
        self.room: list[int] = []

    def node(self) -> int:
        self.arcs.append([])
        return len(self.arcs) - 1

    def add(self, tail: int, head: int, capacity: int) -> None:
        for start, end, room in ((tail, head, capacity), (head, tail, 0)):
            self.arcs[start].append(len(self.head))
            self.head.append(end)
            self.room.append(room)

    def max_flow(self, source: int, sink: int, budget: Budget | None = None) -> int:
        """The value of the flow. `budget` is spent by the arcs of the network, once for itself and once
        for each time that they are looked at."""
        total, rounds = 0, 1
        while levels := self._levels(source, sink):
            rounds += 1
            used = [0] * len(self.arcs)
            while pushed := self._augment(source, sink, levels, used):
                total += pushed
        if budget is not None:
            budget.spend(rounds * len(self.head))
        return total

    def _levels(self, source: int, sink: int) -> list[int]:
        """Distance of each node from the source in the residual network; [] if the sink is cut off."""
        level = [-1] * len(self.arcs)
        level[source] = 0
        queue = deque([source])
        while queue:
            tail = queue.popleft()
            for arc in self.arcs[tail]:
                head = self.head[arc]
                if self.room[arc] and level[head] < 0:
                    level[head] = level[tail] + 1
                    queue.append(head)
        return level if level[sink] >= 0 else []

    def _augment(self, source: int, sink: int, level: list[int], used: list[int]) -> int:
        """Push flow along one shortest path (iteratively: networks are deep); 0 when none is left."""
        path: list[int] = []
        node = source
        while node != sink:
            arcs = self.arcs[node]
            while used[node] < len(arcs):
                arc = arcs[used[node]]
                if self.room[arc] and level[self.head[arc]] == level[node] + 1:
                    break
                used[node] += 1
            if used[node] < len(arcs):
                path.append(arcs[used[node]])
                node = self.head[path[-1]]
            elif path:  # a dead end: go back one arc, and never enter it again
                node = self.head[path.pop() ^ 1]
                used[node] += 1
            else:
                return 0
        pushed = min(self.room[arc] for arc in path)
        for arc in path:
            self.room[arc] -= pushed
            self.room[arc ^ 1] += pushed
        return pushed
