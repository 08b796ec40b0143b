"""The course: runs chapters, each beside figures that others have published for it."""
