"""`headrace doctor`: reports what this machine can do for a job, and what will cause problems."""
