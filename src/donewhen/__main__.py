"""`python -m donewhen`: the same program as the `donewhen` script."""

from donewhen.cli.app import main

if __name__ == "__main__":
    main()
