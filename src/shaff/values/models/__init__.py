"""Models of the user's own: fitted, refitted, or behind projected trees."""
