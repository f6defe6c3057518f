"""The services, played: one module a dialect, each with `stream(body)`, which yields the answer event by event."""
