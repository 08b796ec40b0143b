"""`headrace tune`: measures which algorithm of each collective is best on this machine, and writes the tuning file."""
