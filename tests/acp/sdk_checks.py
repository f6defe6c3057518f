"""The official Python package as an editor, and as the judge of everything that the agent says."""

import asyncio
import contextlib
import os
import shutil
import signal
from pathlib import Path

from acp import PROTOCOL_VERSION, schema, spawn_agent_process, text_block

SERVER = Path(__file__).resolve().with_name("echo_server.py")

# The result of each method.
RESULTS = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
}
REQUESTS = {"session/update": schema.SessionNotification, "session/request_permission": schema.RequestPermissionRequest}


class Editor:
    """An editor that keeps everything it is told, in order, holds it against the types of the package, and answers permissions with
    options of one kind."""

    def __init__(self, picks="allow_once"):
        self.picks, self.updates, self.asked, self.faults = picks, [], [], []
        self.methods, self.seen = {}, 0

    def see(self, event):
        """Sees each message before it is dealt with."""
        message = event.message
        if event.direction == "outgoing":
            if "method" in message and "id" in message:
                self.methods[message["id"]] = message["method"]
            return
        if "method" in message:
            model, value = REQUESTS.get(message["method"]), message["params"]
        else:
            model, value = RESULTS.get(self.methods.get(message["id"])), message.get("result")
        if model and value is not None:
            try:
                read = judge(model, value)
            except Exception as fault:  # noqa: BLE001
                self.faults.append(fault)
                return
            self.seen += 1
            if model is schema.SessionNotification:
                self.updates.append(read.update)

    async def session_update(self, session_id, update, **_):
        pass

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked.append(tool_call)
        option = next(option for option in options if option.kind == self.picks)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, connection):
        pass

    def text(self, kind):
        return "".join(update.content.text for update in self.updates if update.session_update == kind)

    def calls(self):
        """The last state of each call."""
        return list({update.tool_call_id: update for update in self.updates if hasattr(update, "tool_call_id")}.values())


def judge(model, value):
    """The value as its type. Whatever the type does not know, at any depth, would be missing when it is written again."""
    read = model.model_validate(value)
    again = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert again == value, f"{model.__name__} is {again}, not {value}"
    return read


@contextlib.asynccontextmanager
async def connected(world, editor):
    command, *args = world.command
    spawned = spawn_agent_process(editor, command, *args, env=world.environment, cwd=world.work, observers=[editor.see])
    async with spawned as (agent, process):
        introduced = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        assert introduced.protocol_version == 1 and introduced.agent_capabilities.load_session
        yield agent, process
    assert editor.seen > 1 and not editor.faults, editor.faults


async def said(agent, session, text):
    ended = await agent.prompt(session_id=session, prompt=[text_block(text)])
    return ended.stop_reason


def conversation(world):
    """A call, a permission, a cancel, and a load that tells everything again."""

    async def talk():
        editor = Editor()
        async with connected(world, editor) as (agent, _):
            session = (await agent.new_session(cwd=str(world.work), mcp_servers=[])).session_id
            assert await said(agent, session, "What is it?") == "end_turn"
            assert editor.text("agent_message_chunk") == "A loom.", editor.updates
            assert editor.text("agent_thought_chunk") == "Threads become cloth."
            assert await said(agent, session, "Inscribe the notes") == "end_turn"
            [call] = editor.calls()
            assert (call.kind, call.status) == ("edit", "completed"), call
            assert (call.content[0].old_text, call.content[0].new_text) == ("one\n", "one\ntwo\n"), call
            assert not editor.asked
            assert await said(agent, session, "Graft the hook") == "end_turn"
            assert len(editor.asked) == 1 and world.hook.exists()
            turn = asyncio.create_task(said(agent, session, "Dawdle"))
            await asyncio.sleep(0.3)
            await agent.cancel(session_id=session)
            assert await turn == "cancelled"
            texts = {kind: editor.text(kind) for kind in ("agent_message_chunk", "agent_thought_chunk")}
            calls = [call.tool_call_id for call in editor.calls()]
        again = Editor()
        async with connected(world, again) as (agent, _):
            listed = (await agent.list_sessions()).sessions
            assert [one.session_id for one in listed] == [session] and listed[0].title == "What is it?", listed
            await agent.load_session(cwd=str(world.work), mcp_servers=[], session_id=session)
            told = len(again.updates)
            assert again.text("user_message_chunk") == "What is it?Inscribe the notesGraft the hookDawdle", again.updates
            assert {kind: again.text(kind) for kind in texts} == texts
            assert [call.tool_call_id for call in again.calls()] == calls
            assert len(again.updates) == told
            assert await said(agent, session, "And now?") == "end_turn"
            await agent.close_session(session_id=session)
        assert len(world.runs()) == 5


    asyncio.run(talk())


def refusal(world):
    async def talk():
        editor = Editor(picks="reject_once")
        async with connected(world, editor) as (agent, _):
            session = (await agent.new_session(cwd=str(world.work), mcp_servers=[])).session_id
            assert await said(agent, session, "Graft the hook") == "end_turn"
            assert len(editor.asked) == 1 and not world.hook.exists()
            assert [call.status for call in editor.calls()] == ["failed"]

    asyncio.run(talk())


def server_of_the_editor(world):
    """A tool of an MCP server that the editor brings along is used in its session."""

    async def talk():
        editor = Editor()
        async with connected(world, editor) as (agent, _):
            # In the sandbox, servers see the folder and the system's programs.
            program = shutil.copy(SERVER, world.work)
            server = schema.McpServerStdio(name="echo", command="/usr/bin/python3", args=[program], env=[])
            session = (await agent.new_session(cwd=str(world.work), mcp_servers=[server])).session_id
            assert await said(agent, session, "Repeat it") == "end_turn"
            [call] = editor.calls()
            assert call.status == "completed" and "You said hello" in call.content[0].content.text, call
            assert editor.text("agent_message_chunk").endswith("It was repeated.")

    asyncio.run(talk())


def killed_in_a_turn(world):
    """kill -9 in a turn, then a load in a new process: nothing is lost, and the run goes on."""

    async def talk():
        editor = Editor()
        async with connected(world, editor) as (agent, process):
            session = (await agent.new_session(cwd=str(world.work), mcp_servers=[])).session_id
            assert await said(agent, session, "Inscribe the notes") == "end_turn"
            turn = asyncio.create_task(said(agent, session, "Ponder"))
            while not any(run["status"] == "running" for run in await asyncio.to_thread(world.runs)):
                await asyncio.sleep(0.1)
            os.kill(process.pid, signal.SIGKILL)
            await asyncio.gather(turn, return_exceptions=True)
        run = world.runs()[0]["run"]
        later = Editor()
        async with connected(world, later) as (agent, _):
            await agent.load_session(cwd=str(world.work), mcp_servers=[], session_id=session)
            assert later.text("user_message_chunk") == "Inscribe the notesPonder", later.updates
            assert later.text("agent_message_chunk") == "I begin.It is written.", later.updates
            later.updates.clear()
            assert await said(agent, session, "Go on") == "end_turn"
            assert later.text("agent_message_chunk") == "I have pondered.", later.updates
        assert [one["run"] for one in world.runs()][0] == run and len(world.runs()) == 2
        assert world.runs()[0]["status"] == "done"
        assert world.run(world.updraft, "replay", "--strict", run)

    asyncio.run(talk())


CHECKS = [conversation, refusal, server_of_the_editor, killed_in_a_turn]
