"""What a network will need, without placing rows or writing C: milliseconds in place of seconds.

Why a room: an architecture search weighs ten thousand networks. An estimate prepares a network as a
program is, and asks the planner's own tables, peaks and prices; but no weights are packed, it looks for
the least peak alone, and guesses what placing would make of it.

    estimates/network.py   all of it: what one network needs in one input mode
    estimates/search.py    the least peak of a way through all stages
    estimates/running.py   when rows of such a plan are live, and which forms kernels run in
    estimates/gaps.py      what rows take beyond the peak
    estimates/figures.py   flash
    estimates/builder.py   networks of shapes alone, for those who have no file yet
"""
