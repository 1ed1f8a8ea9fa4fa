"""``python -m faircrowd`` is the command line."""

from faircrowd.cli import main

if __name__ == "__main__":
    main()
