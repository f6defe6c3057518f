//! Tools are found by reading files, never by running them; whatever a file is like, the others are listed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::common::dropped::Dropped;
use serde_json::{Value, json};

const TYPES: &str = r#"
from __future__ import annotations
import typing as t
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import Any, Literal, Optional, TypedDict, Union

class Color(Enum):
    RED = "red"
    BLUE = "blue"

class Step(IntEnum):
    ONE = auto()
    TWO = auto()

@dataclass
class Point:
    """A place."""
    x: float
    y: float = 0.5
    tags: list[str] = field(default_factory=list)

class Base(TypedDict):
    id: int

class Row(Base, total=False):
    note: str
    color: t.Required[Color]

@dataclass
class Tree:
    value: int
    children: list["Tree"] = field(default_factory=list)

def plain(a: str, b: int, c: float, d: bool, e: None, f: Any, g: "str" = "x"): "p"
def containers(a: list[int], b: t.Dict[str, float], c: tuple[int, str], d: set[bool], e: tuple[int, ...], f: list, g: dict): "c"
def choices(a: Optional[int] = None, b: int | str | None = 3, c: Literal["x", 2] = "x", d: Union[str, list[str]] = ""): "c"
def own(a: Point, b: Color = Color.BLUE, c: Step = Step.TWO, *, row: Row) -> list[Point]: "o"
def more(a: int, **rest: int) -> Tree: "m"
async def later() -> None: "l"
"#;

async fn parameters(source: &str, tool: &str) -> Option<Value> {
    let dropped = Dropped::new(&[("types.py", source)]).await?;
    assert_eq!(dropped.problems(), [""; 0]);
    Some(dropped.world.dispatcher.registry().get(tool).unwrap().spec().parameters.clone())
}

#[tokio::test]
async fn annotations_become_schemas() {
    let Some(plain) = parameters(TYPES, "plain").await else { return };
    let wanted = json!({
        "type": "object", "additionalProperties": false, "required": ["a", "b", "c", "d", "e", "f"],
        "properties": {
            "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "number"}, "d": {"type": "boolean"},
            "e": {"type": "null"}, "f": {}, "g": {"type": "string", "default": "x"},
        },
    });
    assert_eq!(plain, wanted);
    let containers = parameters(TYPES, "containers").await.unwrap();
    let wanted = json!({
        "a": {"type": "array", "items": {"type": "integer"}},
        "b": {"type": "object", "additionalProperties": {"type": "number"}},
        "c": {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "integer"}, {"type": "string"}],
              "items": {}},
        "d": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": true},
        "e": {"type": "array", "items": {"type": "integer"}},
        "f": {"type": "array", "items": {}},
        "g": {"type": "object", "additionalProperties": true},
    });
    assert_eq!(containers["properties"], wanted);
    let choices = parameters(TYPES, "choices").await.unwrap();
    let (text, number, none) = (json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "null"}));
    let wanted = json!({
        "a": {"anyOf": [number, none], "default": null},
        "b": {"anyOf": [number, text, none], "default": 3},
        "c": {"enum": ["x", 2], "default": "x"},
        "d": {"anyOf": [text, {"type": "array", "items": text}], "default": ""},
    });
    assert_eq!((&choices["properties"], &choices["required"]), (&wanted, &Value::Null));
}

#[tokio::test]
async fn classes_of_the_file_become_schemas_and_may_contain_themselves() {
    let Some(dropped) = Dropped::new(&[("types.py", TYPES)]).await else { return };
    let tool = |name: &str| dropped.world.dispatcher.registry().get(name).unwrap().clone();
    let point = json!({
        "type": "object", "description": "A place.", "additionalProperties": false, "required": ["x"],
        "properties": {
            "x": {"type": "number"}, "y": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    });
    let wanted = json!({
        "a": point,
        "b": {"enum": ["red", "blue"], "type": "string", "default": "blue"},
        "c": {"enum": [1, 2], "type": "integer", "default": 2},
        "row": {
            "type": "object", "additionalProperties": false, "required": ["id", "color"],
            "properties": {
                "id": {"type": "integer"}, "note": {"type": "string"},
                "color": {"enum": ["red", "blue"], "type": "string"},
            },
        },
    });
    assert_eq!(tool("own").spec().parameters["properties"], wanted);
    assert_eq!(tool("own").output(), Some(&json!({"type": "array", "items": point})));
    let wanted = json!({
        "$ref": "#/$defs/Tree",
        "$defs": {"Tree": {
            "type": "object", "additionalProperties": false, "required": ["value"],
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
        }},
    });
    assert_eq!(tool("more").output(), Some(&wanted));
    assert_eq!(tool("more").spec().parameters["additionalProperties"], json!({"type": "integer"}));
    assert_eq!(tool("later").output(), None);
}

#[tokio::test]
async fn docstrings_describe_tools_and_parameters_in_three_styles() {
    let source = r#"
def google(a: int, b: str = ""):
    """Does it
    well.

    At length.

    Args:
        a (int): The first,
            which matters.
        b: The second.
    Returns:
        a: nothing
    """
def numpy(a: int, b: int):
    """Does it.

    Parameters
    ----------
    a, b : int
        Both.
    """
def rest(a: int):
    """Does it.

    :param int a: The only
        one.
    :return: nothing
    """
"#;
    let Some(dropped) = Dropped::new(&[("docs.py", source)]).await else { return };
    let said = |name: &str| {
        let spec = dropped.world.dispatcher.registry().get(name).unwrap().spec().clone();
        let of = |name: &str| spec.parameters["properties"][name]["description"].as_str().unwrap_or("").to_owned();
        [spec.description.clone(), of("a"), of("b")]
    };
    assert_eq!(said("google"), ["Does it well.", "The first, which matters.", "The second."]);
    assert_eq!(said("numpy"), ["Does it.", "Both.", "Both."]);
    assert_eq!(said("rest"), ["Does it.", "The only one.", ""]);
}

#[tokio::test]
async fn only_public_functions_of_the_file_itself_are_tools() {
    let source = r#"
import functools, typing
from os.path import join
if typing.TYPE_CHECKING:
    def checked(): "c"
if __name__ == "__main__":
    def script(): "s"
class Thing:
    def method(self): "m"
short = lambda: 1
def _private(): "p"
def outer():
    "o"
    def inner(): "i"
@functools.lru_cache
def decorated(n: int) -> int: "d"
try:
    import tomllib
    def either(): "e"
except ImportError:
    def either(): "e"
"#;
    let files = [("a.py", source), ("_b.py", "def hidden(): 'h'"), ("c.txt", "def no(): 'n'")];
    let Some(mut dropped) = Dropped::new(&files).await else { return };
    assert_eq!(dropped.tools(), ["tools/a.py: outer", "tools/a.py: decorated", "tools/a.py: either"]);
    dropped.put("a.py", "__all__ = ['two']\ndef one(): 'o'\ndef two(): 't'\n");
    dropped.list().await;
    assert_eq!(dropped.tools(), ["tools/a.py: two"]);
}

#[tokio::test]
async fn what_is_not_known_is_open_and_said() {
    let source = "from pandas import Frame\nimport numpy as np\ndef f(a: Frame, b, c: np.ndarray, d: make()): 'f'\n\
                  class Plain: ...\ndef g(a: Plain): 'g'\ndef h(*args): 'h'\ndef i(): ...\n";
    let Some(dropped) = Dropped::new(&[("a.py", source)]).await else { return };
    let wanted = [
        "tools/a.py:3: `Frame` is imported from `pandas`, so anything is accepted",
        "tools/a.py:3: `b` has no annotation, so anything is accepted",
        "tools/a.py:3: `numpy.ndarray` is imported from `numpy`, so anything is accepted",
        "tools/a.py:3: the annotation is computed, so anything is accepted",
        "tools/a.py:4: `Plain` is a class that JSON cannot become (no dataclass, TypedDict or enum), so anything is accepted",
        "tools/a.py:6: takes `*args`, which has no names to give arguments by; name the parameters",
        "tools/a.py:7: there is no docstring, so a model knows it by its name alone",
    ];
    assert_eq!(dropped.problems(), wanted);
    assert_eq!(dropped.tools(), ["tools/a.py: f", "tools/a.py: g", "tools/a.py: i"]);
}

#[tokio::test]
async fn what_a_condition_decides_is_open_and_said() {
    let source = "import sys, enum\nfrom typing import *\nfrom enum import *\n__all__ = ['f', 'g', 'h', 'same', 'gone']\n\
                  if sys.platform == 'linux':\n    def f(a: int): 'f'\n    class Mode(Enum):\n        A = 1\nelse:\n    \
                  def f(b: str): 'f'\n    class Mode(Enum):\n        B = 2\n\
                  try:\n    def same(a: int): 's'\nexcept ImportError:\n    def same(a: int): 't'\n\
                  def g(a: Mode, b: Optional[Union[int, str]] = None): 'g'\n\
                  class Text(str, Enum):\n    X = auto()\n    Y = auto()\n\
                  class Bits(IntFlag):\n    A = auto()\n    B = auto()\n    C = auto()\n\
                  class Own(Enum):\n    def _generate_next_value_(name, *_): return name\n    A = auto()\n\
                  def h(a: Text, b: Bits, c: Own): 'h'\n";
    let Some(dropped) = Dropped::new(&[("a.py", source)]).await else { return };
    let wanted = [
        "tools/a.py:4: `__all__` names `gone`, which this file does not define",
        "tools/a.py:10: it is defined in more than one way (lines 6, 10), so anything is accepted",
        "tools/a.py:17: `Mode` is defined in more than one way, so anything is accepted",
        "tools/a.py:25: a value of the enum `Own` is computed, so anything is accepted",
    ];
    assert_eq!(dropped.problems(), wanted);
    let tool = |name: &str| dropped.world.dispatcher.registry().get(name).unwrap().spec().parameters.clone();
    assert_eq!(tool("f")["additionalProperties"], json!(true));
    assert_eq!(tool("same")["required"], json!(["a"]));
    let wanted = json!({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}], "default": null});
    assert_eq!(tool("g")["properties"]["b"], wanted);
    let wanted = json!({
        "a": {"enum": ["1", "2"], "type": "string"}, "b": {"enum": [1, 2, 4], "type": "integer"}, "c": {},
    });
    assert_eq!(tool("h")["properties"], wanted);
    assert_eq!(dropped.tools().len(), 4);
}

#[tokio::test]
async fn hostile_files_are_named_and_hide_nothing() {
    let Some(mut dropped) = Dropped::new(&[("good.py", "def good(): 'g'")]).await else { return };
    let unary = format!("x = {}1", "-".repeat(100_000));
    let sum = format!("x = {}", vec!["1"; 50_000].join("+"));
    for (name, text) in [("brackets.py", "(".repeat(10_000)), ("sum.py", sum), ("unary.py", unary)] {
        dropped.put(name, &text);
    }
    dropped.put("large.py", &"# much\n".repeat(200_000));
    dropped.put("syntax.py", "\n\ndef f(:\n");
    dropped.put("indent.py", "def f():\n    pass\n  pass\n");
    dropped.world.put("tools/null.py", b"x = '\0'\n");
    dropped.world.put("tools/bytes.py", b"x = '\xff\xfe'\n");
    dropped.world.put("tools/surrogate.py", "def f(a: str = '\\ud800'): 'f'\n");
    dropped.world.link("/etc/passwd", "tools/link.py");
    let pipe = dropped.world.path("tools/pipe.py");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
    dropped.list().await;
    assert_eq!(dropped.tools(), ["tools/good.py: good"]);
    let problems = dropped.problems();
    let named = |file: &str| problems.iter().find(|one| one.starts_with(&format!("tools/{file}:"))).cloned();
    let silent: Vec<&str> = [
        "brackets.py",
        "sum.py",
        "unary.py",
        "large.py",
        "syntax.py",
        "indent.py",
        "null.py",
        "bytes.py",
        "surrogate.py",
        "link.py",
        "pipe.py",
    ]
    .into_iter()
    .filter(|file| named(file).is_none())
    .collect();
    assert_eq!(silent, [""; 0], "{problems:#?}");
    assert!(named("syntax.py").unwrap().starts_with("tools/syntax.py:3: "), "{problems:#?}");
    assert!(named("link.py").unwrap().contains("is a link"), "{problems:#?}");
}

#[tokio::test]
async fn listing_runs_nothing_and_describing_changes_nothing() {
    let python = "open('made_by_import', 'w').close()\ndef f(): 'f'\n";
    let program = "#!/bin/sh\ntouch made_by_script ../made_by_script \"$(dirname \"$0\")/made_by_script\"\nrm -rf *\n";
    let Some(dropped) = Dropped::new(&[("a.py", python), ("build.sh", program)]).await else { return };
    assert_eq!(dropped.tools(), ["tools/a.py: f"]);
    assert_eq!(dropped.world.names(), ["tools"]);
    let left = std::fs::read_dir(dropped.world.path("tools")).unwrap().count();
    assert_eq!(left, 2);
}

#[tokio::test]
async fn a_name_belongs_to_the_first_that_has_it() {
    let files =
        [("a.py", "def twice(): 't'\ndef read_file(): 'r'\n"), ("b.py", "def twice(): 't'\ndef other(): 'o'\n")];
    let Some(dropped) = Dropped::new(&files).await else { return };
    assert_eq!(dropped.tools(), ["tools/a.py: twice", "tools/b.py: other"]);
    let wanted = [
        "tools/a.py:2: there is already a tool named `read_file` (built in)",
        "tools/b.py:1: there is already a tool named `twice` (tools/a.py)",
    ];
    assert_eq!(dropped.problems(), wanted);
}

#[tokio::test]
async fn what_did_not_change_is_not_looked_at_again() {
    let describing = "#!/bin/sh\necho '{\"name\": \"p\", \"parameters\": {\"type\": \"object\"}}'\n";
    let files = [("a.py", "def one(): 'o'"), ("b.py", "def"), ("p", describing)];
    let Some(mut dropped) = Dropped::new(&files).await else { return };
    let before = (dropped.tools(), dropped.problems());
    // Nothing can be started any more, and nothing needs to be.
    let policy = dropped.settings.confinement.policy.clone();
    dropped.settings.confinement = updraft_tools::Confinement::new("/nonexistent", policy);
    dropped.list().await;
    assert_eq!((dropped.tools(), dropped.problems()), before);
    dropped.put("a.py", "def two(): 't'");
    dropped.list().await;
    assert!(dropped.problems()[0].contains("could not be looked at"), "{:?}", dropped.problems());
    assert_eq!(dropped.tools(), ["tools/p: p"]);
}

#[tokio::test]
async fn a_missing_interpreter_is_said_with_the_remedy() {
    let Some(mut dropped) = Dropped::new(&[]).await else { return };
    dropped.settings.python = "no-such-python".into();
    dropped.put("a.py", "def one(): 'o'");
    dropped.list().await;
    let wanted = "tools/a.py:1: `no-such-python` was not found; install Python 3.8 or newer, or name one with the \
                  setting `tools.python`";
    assert_eq!(dropped.problems(), [wanted]);
}

#[tokio::test]
async fn programs_describe_themselves() {
    let describing = |said: &str| format!("#!/bin/sh\n[ \"$1\" = --describe ] && echo '{said}'\n");
    let good = describing(
        r#"{"name": "good", "description": "Good.", "inputSchema": {"type": "object"},
            "annotations": {"destructiveHint": true, "title": "Good"}}"#,
    );
    let shapeless = describing(r#"{"name": "shapeless"}"#);
    let remote = describing(r#"{"name": "remote", "parameters": {"$ref": "https://example.com/schema"}}"#);
    let files = [
        ("good", good.as_str()),
        ("mute", "#!/bin/sh\nexit 2\n"),
        ("remote", &remote),
        ("shapeless", &shapeless),
        ("strange", "#!/no/such/interpreter\n"),
    ];
    let Some(dropped) = Dropped::new(&files).await else { return };
    assert_eq!(dropped.tools(), ["tools/good: good"]);
    let tool = dropped.world.dispatcher.registry().get("good").unwrap().clone();
    assert!(tool.traits().destroys && tool.spec().description == "Good.");
    let problems = dropped.problems();
    assert_eq!(problems[0], "tools/mute:1: it ended `--describe` with exit code 2, so it is not a tool");
    assert!(problems[1].starts_with("tools/remote:1: its schema cannot be used"), "{problems:?}");
    assert_eq!(problems[2], "tools/shapeless:1: it has neither `parameters` nor `inputSchema`, a JSON Schema");
    assert!(problems[3].starts_with("tools/strange:1: it cannot be run"), "{problems:?}");
}

#[tokio::test]
async fn without_a_sandbox_only_tools_of_trusted_folders_are_run() {
    let said = "#!/bin/sh\necho ran >> \"${0%/*}/ran\"\n\
                echo '{\"name\": \"mine\", \"description\": \"x\", \"parameters\": {\"type\": \"object\"}}'\n";
    let Some(mut dropped) = Dropped::new(&[]).await else { return };
    dropped.put("mine", said);
    dropped.settings.confinement.level = Some(updraft_sandbox::SandboxLevel::None);
    dropped.settings.folders[0].is_trusted = false;
    dropped.list().await;
    assert!(dropped.tools().is_empty() && !dropped.world.path("tools/ran").exists());
    assert!(dropped.problems()[0].contains("without a sandbox"), "{:?}", dropped.problems());
    dropped.settings.folders[0].is_trusted = true;
    dropped.list().await;
    assert_eq!(dropped.tools(), ["tools/mine: mine"]);
    assert!(dropped.world.path("tools/ran").exists());
}
