"""How a judge says no."""


class Refused(Exception):
    """A body that the service would not take; the text says where and why."""


def expect(claim, fault):
    """Refuses the body unless the claim holds."""
    if not claim:
        raise Refused(fault)
