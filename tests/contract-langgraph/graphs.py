"""The run of a cell, as LangGraph's documentation says it is to be written, in three ways.

Three steps: one before, one that acts, one that ends. What acts can be a plain node, a node whose side effect is a task,
or a task of the functional API. Effects are lines in a file that is opened to append, so they are counted outside.
"""

import os
import signal
import sqlite3
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

WAYS = ["node", "task", "functional"]
KINDS = ["effect", "two at once", "question", "approval"]
THREAD = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    before: str
    act: str
    act2: str
    end: str


class World:
    """A folder with the checkpoints and what was done; `cut` is the gate where this process kills itself."""

    def __init__(self, folder, cut=None):
        self.folder, self.cut = folder, cut

    def path(self, name):
        return os.path.join(self.folder, name)

    def gate(self, name):
        if name == self.cut:
            os.kill(os.getpid(), signal.SIGKILL)

    def do(self, name):
        """One effect."""
        file = os.open(self.path("effects"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{name}\n".encode())
        os.close(file)

    def done(self):
        try:
            with open(self.path("effects")) as file:
                return file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def act(self, kind, name="act"):
        """What the middle step does. An interrupt comes before any effect, as the documentation asks."""
        if kind == "question":
            answer = interrupt("Which colour?")
            self.gate("before")
            self.do(f"heard {answer}")
            self.gate("after")
            return answer
        if kind == "approval" and interrupt("May it be done?") != "yes":
            return "refused"
        self.gate("before")
        self.do(name)
        self.gate("after")
        return "acted"

    def saver(self):
        # As SqliteSaver.from_conn_string does, which is a context manager.
        return SqliteSaver(sqlite3.connect(self.path("db.sqlite"), check_same_thread=False))

    def app(self, way, kind):
        return {"node": self.nodes, "task": self.nodes, "functional": self.functional}[way](kind, way == "task")

    def nodes(self, kind, with_task):
        deed = task(self.act) if with_task else None

        def act(_state):
            return {"act": deed(kind).result() if with_task else self.act(kind)}

        def act2(_state):
            return {"act2": deed("effect", "act2").result() if with_task else self.act("effect", "act2")}

        def before(_state):
            self.do("before")
            return {"before": "was"}

        def end(_state):
            self.gate("recorded")
            return {"end": "the end"}

        graph = StateGraph(State)
        for name, step in [("before", before), ("act", act), ("end", end)]:
            graph.add_node(name, step)
        graph.add_edge(START, "before")
        graph.add_edge("before", "act")
        if kind == "two at once":
            graph.add_node("act2", act2)
            graph.add_edge("before", "act2")
            graph.add_edge(["act", "act2"], "end")
        else:
            graph.add_edge("act", "end")
        graph.add_edge("end", END)
        return graph.compile(checkpointer=self.saver())

    def functional(self, kind, _):
        def before():
            self.do("before")
            return "was"

        def end():
            self.gate("recorded")
            return "the end"

        first, deed, last = task(before), task(self.act), task(end)

        @entrypoint(checkpointer=self.saver())
        def flow(_goal):
            first().result()
            futures = [deed(kind if kind != "two at once" else "effect")]
            if kind == "two at once":
                futures.append(deed("effect", "act2"))
            acted = [future.result() for future in futures]
            return {"act": acted[0], "end": last().result()}

        return flow


def begin(world, way, kind):
    goal = "go" if way == "functional" else {}
    return world.app(way, kind).invoke(goal, THREAD, durability="sync")


def go_on(world, way, kind):
    return world.app(way, kind).invoke(None, THREAD, durability="sync")


def answer(world, way, kind, word):
    return world.app(way, kind).invoke(Command(resume=word), THREAD, durability="sync")
