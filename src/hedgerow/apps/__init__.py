"""Applications built on the public API: whole tasks, from files to files."""
