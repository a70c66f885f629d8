"""Small tools that every room uses and that know nothing of Shapley effects."""
