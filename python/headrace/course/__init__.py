"""The course: runs chapters and compares each with figures that others have published for it."""
