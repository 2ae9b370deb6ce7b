"""Problems, and slow but obvious ways to solve them, for the tests of `lowtide.place`."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import strategies as st

from lowtide.place import Item, Placement, Problem


def problem(*items: tuple[int, int, int], align: int = 16) -> Problem:
    """A problem from (size, start, end) triples; the ids count from 0."""
    return Problem(tuple(Item(i, *item) for i, item in enumerate(items)), align)


@st.composite
def problems(draw: st.DrawFn, max_items: int = 12, slots: int = 8) -> Problem:
    """Random problems: some items empty or never live, some before slot 0, few distinct sizes."""
    item = st.tuples(
        st.one_of(st.integers(0, 100), st.sampled_from([0, 16, 32, 48])),
        st.integers(-2, slots),
        st.integers(0, slots),
    )
    triples = draw(st.lists(item, max_size=max_items))
    ids = draw(st.permutations(range(len(triples))))
    return Problem(
        tuple(
            Item(id_, size, start, start + length)
            for id_, (size, start, length) in zip(ids, triples, strict=True)
        ),
        draw(st.sampled_from([1, 4, 16, 64])),
    )


def random_problem(items: int, seed: int) -> Problem:
    """Sizes uniform, lifetimes exponential: many different ones, hard to pack."""
    random = Random(seed)
    triples = []
    for _ in range(items):
        start = random.randrange(items)
        length = 1 + int(random.expovariate(6 / items))
        triples.append((random.randrange(1, 4000), start, start + length))
    return problem(*triples)


def full_problem(items: int, seed: int) -> Problem:
    """All slots equally full, as far as `items` items can: nothing may be wasted."""
    random = Random(seed)
    slots, level = random.randrange(3, 6), random.randrange(3, 6)
    loads = [0] * slots
    triples: list[tuple[int, int, int]] = []
    while len(triples) < items and min(loads) < level:
        start = random.choice([slot for slot in range(slots) if loads[slot] == min(loads)])
        size = random.randrange(1, min(3, level - loads[start]) + 1)
        low, high = start, start + 1
        while low > 0 and loads[low - 1] + size <= level and random.random() < 0.5:
            low -= 1
        while high < slots and loads[high] + size <= level and random.random() < 0.5:
            high += 1
        loads[low:high] = [load + size for load in loads[low:high]]
        triples.append((16 * size, low, high))
    return problem(*triples)


def row_problem(items: int, seed: int) -> Problem:
    """Like rows of feature maps: runs of equal items, each live for a window of slots."""
    random = Random(seed)
    triples: list[tuple[int, int, int]] = []
    slot = 0
    while len(triples) < items:
        height, size, stride = (
            random.randrange(10, 60),
            random.randrange(100, 3000),
            random.randrange(1, 5),
        )
        window = stride * random.randrange(2, 40)
        triples += [(size, slot + y * stride, slot + y * stride + window) for y in range(height)]
        slot += height * stride // random.randrange(1, 4)
    return problem(*triples[:items])


def sequential_network(sizes: list[int]) -> Problem:
    """Tensor k is made in slot k and read in slot k + 1."""
    return problem(*((size, slot, slot + 2) for slot, size in enumerate(sizes)))


def first_fit_arena(task: Problem, order: tuple[Item, ...] | list[Item]) -> int:
    """The arena of first fit in `order`, the long way round: try every aligned address."""
    placed: list[tuple[int, int, Item]] = []
    for item in order:
        if item.size == 0 or item.start >= item.end:
            continue
        offset = 0
        while any(
            low < offset + item.size
            and offset < high
            and other.start < item.end
            and item.start < other.end
            for low, high, other in placed
        ):
            offset += task.align
        placed.append((offset, offset + item.size, item))
    return task.aligned(max((high for _, high, _ in placed), default=0))


def optimum(task: Problem) -> int:
    """The smallest arena: the best of first fit over all orders, which reaches it in some order."""
    return min(first_fit_arena(task, order) for order in permutations(task.items))


def bound(task: Problem) -> int:
    """The lower bound, slot by slot."""
    slots = [slot for item in task.items for slot in range(item.start, item.end)]
    return max(
        (
            sum(task.aligned(item.size) for item in task.items if item.start <= slot < item.end)
            for slot in slots
        ),
        default=0,
    )


def offsets(placement: Placement) -> list[int]:
    """Offsets by ascending item id."""
    return [offset for _, offset in sorted(placement.offsets().items())]
