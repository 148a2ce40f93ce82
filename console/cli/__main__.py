"""`python -m console.cli`: the program where no set-up has put the executable `levee` in place."""

from console.cli.program import main

main()
