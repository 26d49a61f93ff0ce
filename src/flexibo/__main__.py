"""``python -m flexibo`` is the command line."""

from flexibo.cli import main

main()
