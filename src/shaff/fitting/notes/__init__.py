"""What a result says beside its numbers: each note is a function of facts."""
