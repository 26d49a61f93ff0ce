"""``python -m flexibo`` is the command line."""

from flexibo.cli import main

if __name__ == "__main__":  # processes that it starts import this file too
    main()
