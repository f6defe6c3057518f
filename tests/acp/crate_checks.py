"""The client of the Rust crate as an editor: crate-client says what it saw, as JSON lines."""

import json


def conversation(world, program):
    """A call, a permission, a cancel, and a load that tells everything again."""
    lines = [json.loads(line) for line in world.run(program, str(world.work), *world.command).splitlines()]
    said = {line["step"]: line for line in lines}
    assert said["initialize"]["version"] == 1, said
    assert said["call"]["reason"] == "end_turn" and said["call"]["message"] == "I begin.It is written.", said
    assert said["call"]["calls"] == 1 and said["call"]["asked"] == 0, said
    assert said["permission"]["asked"] == 1 and world.hook.exists(), said
    assert said["cancel"]["reason"] == "cancelled", said
    assert said["load"]["user"] == "Inscribe the notesGraft the hookDawdle", said
    assert said["load"]["message"] == said["call"]["message"] + said["permission"]["message"], said
    assert said["load"]["calls"] == 2, said


CHECKS = [conversation]
