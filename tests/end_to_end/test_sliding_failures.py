"""Windows that slide, of callers whose rows do not come: the next run takes a whole window again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import run_main

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.oracle.samples import reference
from networks import model_of

_WHOLE = "net_invoke(&m)"
_SLICES = "in_slices(&m)"
_IN_SLICES = """static int in_slices(net_t *m)
{
    int status;
    for (int n = 0; n < 100000; n++) {
        status = net_invoke_some(m, 1);
        if (status != LT_MORE) {
            break;
        }
    }
    return status;
}
"""


@pytest.mark.parametrize("invoke", [_WHOLE, _SLICES])
def test_a_run_that_lacks_rows(invoke: str, tmp_path: Path) -> None:
    """A window of 30 rows in hops of 4, two rows of zeros before the first: right at once, after a hop
    whose third row does not come, and after a whole window that stops at its 20th."""
    model = model_of("wake-word-window")
    program = compile_model(model, Options(hop=4, slices=True, name="net"))
    rows = np.random.default_rng(2).integers(-128, 128, (34, 40), np.int8)
    (given,), (made,) = model.graph.inputs, model.graph.outputs
    inputs = [{given: rows[at : at + 30].reshape(1, 30, 1, 40)} for at in (0, 4)]
    found = reference(model, inputs, [made])
    wanted = np.concatenate([sample[made].reshape(-1) for sample in found.samples])
    declarations = (
        '#include "net.h"\n'
        f"static const int8_t rows[] = {{{', '.join(map(str, rows.reshape(-1)))}}};\n"
        f"static const int8_t wanted[] = {{{', '.join(map(str, wanted))}}};\n"
        """
static int at, last, pulled;
static int pull(void *context, int input, int row, void *to)
{
    (void)context;
    (void)input;
    if (at + row == last) {
        return 7;
    }
    pulled++;
    memcpy(to, rows + (at + row) * 40, 40);
    return 0;
}
""" + (_IN_SLICES if invoke == _SLICES else "")
    )
    body = f"""
    static net_t m;
    static uint8_t arena[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    static uint8_t state[NET_STATE_SIZE] __attribute__((aligned(16)));
    CHECK(net_init(&m, arena, sizeof arena, state, sizeof state) == LT_OK);
    CHECK(net_set_pull(&m, pull, NULL) == LT_OK);
    last = -1;
    CHECK({invoke} == LT_OK && pulled == 30);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0 && net_rows_wanted(&m) == 0);
    at = 4;
    last = 32;
    CHECK({invoke} == 7 && pulled == 32 && net_rows_wanted(&m) == 0);
    at = 0;
    last = 20;
    CHECK({invoke} == 7 && pulled == 52 && net_rows_wanted(&m) == 0);
    last = -1;
    CHECK({invoke} == LT_OK && pulled == 82);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0 && net_rows_wanted(&m) == 0);
    at = 4;
    CHECK({invoke} == LT_OK && pulled == 86);
    CHECK(memcmp(net_output(&m, 0), wanted + 3, 3) == 0);
"""
    run_main(tmp_path, [program], body, declarations)
