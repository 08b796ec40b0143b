"""`headrace monitor` and `headrace top`: activity of this host's jobs, live and as history.

From the pages to the browser: `source` (readings of the pages) -> `collector` (a thread, once a second) -> `history`
(SQLite; `thin` keeps it small) -> `query` (sums for a view) -> `server` (the web page, events, metrics). `top` only
reads pages.
"""
