"""``python -m shaff`` is the command ``shaff``."""

from shaff.cli import main

if __name__ == "__main__":
    main()
