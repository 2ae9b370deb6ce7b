"""`python -m lowtide` is the command `lowtide`."""

from lowtide.cli import main

main()
