"""The services, played: one module a dialect, each with `stream(body, is_ours)`, which yields the answer event by event.

`is_ours` says that what was answered before in this conversation was answered here."""
