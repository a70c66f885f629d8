"""What is computed about the data besides the effects, for notes and reports."""
