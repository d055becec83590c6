"""``python -m river_okl``."""

from river_okl.cli.command import main

if __name__ == "__main__":
    main()
