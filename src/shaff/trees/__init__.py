"""Trees: one file a library, each with all that shaff knows of it, and the kinds of forests."""
