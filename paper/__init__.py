"""The paper reproduced: its tables and figures from one command."""
