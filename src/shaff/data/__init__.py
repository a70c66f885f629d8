"""The data: everything is read and checked here, once, and becomes a `Problem`."""
