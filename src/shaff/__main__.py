"""``python -m shaff`` is the command ``shaff``."""

import signal

from shaff._util.interrupts import end_at_once, is_ignored

if __name__ == "__main__":
    if not is_ignored():
        signal.signal(signal.SIGINT, end_at_once)  # until `main` takes over
    from shaff.cli import main

    main()
