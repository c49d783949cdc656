"""`python -m understudy`: the command of the same name."""

from understudy.app.cli import main

main()
