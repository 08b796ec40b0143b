"""The course: chapters that are run, each beside what others have published for it."""
