"""How many wrong versions of a function a test command notices."""
