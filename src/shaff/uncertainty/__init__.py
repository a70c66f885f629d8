"""How sure the effects are: error bars and tests."""
