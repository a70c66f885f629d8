"""Every note of a result: each a rule that turns facts into a sentence."""
