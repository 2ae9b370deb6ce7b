"""What a network will need, without placing rows or writing C: milliseconds in place of seconds.

Why a room: an architecture search weighs ten thousand networks. It reads what the planner reads (nodes,
ports, scratch memory, prices), but of all networks only shapes; and it weighs all stages at once.

    estimates/lines.py     which rows each step touches, and one order of all steps
    estimates/weighing.py  the peaks of all stages, and the best way through them
    estimates/network.py   all of it: what one network needs in one input mode
    estimates/fitting.py   which forms kernels run in, and what they cost
    estimates/gaps.py      what rows take beyond the peak
    estimates/figures.py   flash
    estimates/builder.py   networks of shapes alone, for those who have no file yet
"""
