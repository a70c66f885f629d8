"""Trees: one file per library, each with all that shaff knows of it, and the kinds of forests."""
