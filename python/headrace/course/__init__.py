"""The course: runs chapters and compares each with published figures."""
