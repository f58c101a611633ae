"""Other ways to write a program: found, scored, and kept where they lose fewer digits."""
