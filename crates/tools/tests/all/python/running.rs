//! What code gives, and what becomes of code that means no good.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::{FailureKind, Reply};
use updraft_sandbox::SandboxLevel;
use updraft_tools::worker::PythonConfig;
use updraft_tools::{Registry, ToolLimits};

use super::{World, output, told};
use crate::common::{self, confined};

#[tokio::test]
async fn the_last_expression_is_the_result() {
    let Some(world) = World::new().await else { return };
    assert_eq!(world.result("1 + 1").await, json!(2));
    assert_eq!(
        world.result("import math\nx = [math.floor(2.5), 'é', None]\n{'x': x}").await,
        json!({"x": [2, "é", null]})
    );
    assert_eq!(world.result("result = (1, 2)").await, json!([1, 2]));
    assert_eq!(world.result("output = 'o'\nprint(1)").await, json!("o"));
    assert_eq!(world.result("for i in range(3): pass").await, Value::Null);
    assert_eq!(world.result("  y = 3\n  y").await, json!(3));
    assert_eq!(world.result("```python\n3 + 4\n```").await, json!(7));
}

#[tokio::test]
async fn what_is_no_json_comes_as_text() {
    let Some(world) = World::new().await else { return };
    assert_eq!(world.result("{1, 2}").await, json!("{1, 2}"));
    assert_eq!(world.result("10 ** 30").await, json!("1000000000000000000000000000000"));
    assert_eq!(world.result("float('nan')").await, json!("nan"));
    assert_eq!(world.result("{1: 2}").await, json!("{1: 2}"));
    assert_eq!(world.result("'a' + chr(0xd800)").await, json!("a?"));
    let broken = "class A:\n  def __repr__(self): raise ValueError\nA()";
    assert_eq!(world.result(broken).await, json!("<a A whose repr raised ValueError>"));
    assert_eq!(world.result("x = []\nfor _ in range(500): x = [x]\nlen(str(x))").await, json!(1002));
    assert!(world.result("x = []\nfor _ in range(500): x = [x]\nx").await.is_string());
}

#[tokio::test]
async fn prints_come_in_order() {
    let Some(world) = World::new().await else { return };
    let code = "import os, sys\nprint('a')\nprint('b', file=sys.stderr)\nos.system('echo c')\nprint('d', end='')";
    let output = world.output(json!({ "code": code })).await;
    assert_eq!(told(&output), "result: 0\nprinted:\na\nb\nc\nd".replace("result: 0\n", ""));
    assert_eq!(output.value.as_ref().unwrap()["stdout"], "a\nb\nc\nd");
}

#[tokio::test]
async fn much_output_keeps_its_head_and_tail() {
    let Some(world) = World::new().await else { return };
    let output = world.output(json!({ "code": "print('first')\nprint('x' * 3_000_000)\nprint('last')" })).await;
    let printed = output.value.as_ref().unwrap()["stdout"].as_str().unwrap().to_owned();
    assert!(printed.starts_with("first\nxxx") && printed.ends_with("xxx\nlast\n"));
    assert!(printed.contains("bytes left out]") && printed.len() < 110_000, "{}", printed.len());
}

#[tokio::test]
async fn exceptions_name_the_line() {
    let Some(world) = World::new().await else { return };
    assert_eq!(
        world.error("def f(x):\n    return 1 / x\n\nprint('before')\nf(0)").await,
        "ZeroDivisionError: division by zero\n  line 5: f(0)\n  line 2, in f: return 1 / x\nprinted:\nbefore"
    );
    assert_eq!(world.error("x = 1\ny = = 2").await, "SyntaxError: invalid syntax\n  line 2: y = = 2");
    assert_eq!(
        world.error("import json\njson.loads('{')").await,
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)\n  \
         line 2: json.loads('{')"
    );
    assert_eq!(
        world
            .error(
                "class Mine(Exception): pass\ntry:\n  1 / 0\nexcept ZeroDivisionError as e:\n  raise Mine('no') from e"
            )
            .await,
        "Mine: no\n  line 5: raise Mine('no') from e\nwhich came of\nZeroDivisionError: division by zero\n  line 3: 1 / 0"
    );
}

#[tokio::test]
async fn every_way_to_end_is_told_clearly() {
    let Some(world) = World::new().await else { return };
    assert_eq!(world.error("import sys\nsys.exit(3)").await, "the code called sys.exit(3)");
    assert_eq!(world.result("import sys\nresult = 5\nsys.exit()").await, json!(5));
    assert_eq!(world.error("raise KeyboardInterrupt").await, "KeyboardInterrupt\n  line 1: raise KeyboardInterrupt");
    assert_eq!(world.error("import os\nos._exit(4)").await, "the code ended Python itself, with exit code 4");
    assert_eq!(world.error("input()").await, "EOFError: EOF when reading a line\n  line 1: input()");
    let deep = world.error("def f(): f()\nf()").await;
    assert!(deep.starts_with("RecursionError") && deep.contains("lines left out]"), "{deep}");
    let crash = "import ctypes\ndef f():\n  ctypes.string_at(0)\nf()";
    assert_eq!(world.error(crash).await, "Python was ended by signal 11 (SIGSEGV, a crash)\n  line 3, in f\n  line 4");
    let memory = world.error("x = ' ' * (1 << 45)").await;
    assert!(memory.starts_with("[the sandbox refused more memory"), "{memory}");
    assert!(memory.ends_with("MemoryError\n  line 1: x = ' ' * (1 << 45)"), "{memory}");
}

#[tokio::test]
async fn code_that_goes_for_its_parent_hurts_only_itself() {
    let Some(world) = World::new().await else { return };
    let killed = world.error("import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)").await;
    assert_eq!(killed, "Python ended with exit code 137");
    let all = world.error("import os\nos.kill(-1, 9)\nimport time\ntime.sleep(60)").await;
    assert!(all.contains("ended"), "{all}");
    let look = "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb')";
    assert!(world.error(look).await.starts_with("PermissionError"));
    let descriptor = "import os\nopen(f'/proc/{os.getppid()}/fd/3', 'rb')";
    assert!(world.error(descriptor).await.starts_with("PermissionError"));
    // Whatever is written to the pipes that the code can find, nobody takes it for the end of a call.
    let forge = "import os, struct\nfor fd in range(3, 64):\n  try: os.write(fd, struct.pack('<I', 11) + b'D' + bytes(8) + b'{}')\n  \
                 except OSError: pass\n'mine'";
    assert_eq!(world.result(forge).await, json!("mine"));
    assert_eq!(world.result("'still here'").await, json!("still here"));
}

#[tokio::test]
async fn an_endless_loop_ends_at_its_limit_and_its_prints_are_kept() {
    let Some(world) = World::new().await else { return };
    let code = "import signal, os\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\n\
                if os.fork() == 0: os.setsid()\nprint('begun')\nwhile True: open('beat', 'a').write('x')";
    let output = world.output(json!({ "code": code, "seconds": 8 })).await;
    assert_eq!(told(&output), "it took longer than 8 s and was ended\nprinted:\nbegun\nbegun");
    // Both processes are gone before the call is over.
    let size = std::fs::metadata(world.inner.path("beat")).unwrap().len();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(std::fs::metadata(world.inner.path("beat")).unwrap().len(), size);
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing_running() {
    let Some(world) = World::new().await else { return };
    let cancel = CancellationToken::new();
    let cx = world.with(|cx| cx.cancel = cancel.clone());
    let code = "import time\nwhile True:\n  open('beat', 'a').write('x')\n  time.sleep(0.01)";
    let calling = world.call_in(json!({ "code": code }), &cx);
    let cancelling = async {
        while !world.inner.path("beat").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(calling, cancelling);
    assert_eq!(reply, Reply::Cancelled);
    let size = || std::fs::metadata(world.inner.path("beat")).unwrap().len();
    loop {
        let before = size();
        tokio::time::sleep(Duration::from_millis(200)).await;
        if size() == before {
            break;
        }
    }
}

#[tokio::test]
async fn left_over_threads_and_processes_are_ended_and_told_of() {
    let Some(world) = World::new().await else { return };
    let thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n1";
    let output = world.output(json!({ "code": thread })).await;
    assert_eq!(told(&output), "[1 of its threads still ran at the end and were ended]\nresult: 1");
    let process = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)\n2";
    let output = world.output(json!({ "code": process })).await;
    assert_eq!(told(&output), "[processes that it had started still ran at the end and were ended]\nresult: 2");
    let forked = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n'once'";
    assert_eq!(world.result(forked).await, json!("once"));
}

#[tokio::test]
async fn every_call_starts_afresh() {
    let Some(world) = World::new().await else { return };
    world.result("import json, os, sys, builtins\nx = 1\njson.dumps = None\nsys.path.append('/x')").await;
    let broken = world.error("import builtins\nbuiltins.isinstance = None").await;
    assert!(broken.contains("replaced a part of Python"), "{broken}");
    world.result("import os\nos.environ['LEFT'] = 'x'\nos.chdir('/tmp')\nos.umask(0)").await;
    world.result("open('/tmp/left', 'w').write('x')\nopen('/dev/shm/left', 'w').write('x')").await;
    let look = "import json, os, sys\n[json.dumps([len('ab')]), 'x' in globals(), '/x' in sys.path, 'LEFT' in os.environ, \
                os.path.exists('/tmp/left'), os.path.exists('/dev/shm/left'), os.getcwd()]";
    let root = world.inner.place.workspace.root().to_string_lossy().into_owned();
    assert_eq!(world.result(look).await, json!(["[2]", false, false, false, false, false, root]));
}

#[tokio::test]
async fn files_that_are_left_open_are_written() {
    let Some(world) = World::new().await else { return };
    world.result("f = open('a.txt', 'w')\nf.write('all of it')\nimport atexit\natexit.register(open('b.txt', 'w').write, 'b')").await;
    assert_eq!(world.inner.content("a.txt"), b"all of it");
    assert!(world.inner.path("b.txt").exists());
}

#[tokio::test]
async fn shared_variables_are_globals() {
    let Some(world) = World::new().await else { return };
    let variables =
        [("price", json!(41)), ("a b", json!("x")), ("print", json!(0)), ("class", json!(1)), ("result", json!(7))];
    let variables: Vec<_> = variables.into_iter().map(|(name, value)| (name.to_owned(), Arc::new(value))).collect();
    let cx = world.with(|cx| cx.around.variables = Arc::new(variables));
    let result = |code: &'static str| {
        let (world, cx) = (&world, &cx);
        async move { output(world.call_in(json!({ "code": code }), cx).await).value.as_ref().unwrap()["result"].clone() }
    };
    assert_eq!(result("print('works')\nprice + 1").await, json!(42));
    assert_eq!(result("sorted(reads_data)").await, json!(["a b", "class", "price", "print", "result"]));
    assert_eq!(result("x = 1").await, Value::Null);
    assert_eq!(result("result = 8").await, json!(8));
}

#[tokio::test]
async fn the_sandbox_holds() {
    let Some(world) = World::new().await else { return };
    world.inner.put("json.py", "raise SystemExit('planted')");
    world.inner.put("sitecustomize.py", "open('ran', 'w')");
    world.inner.put("usercustomize.py", "open('ran', 'w')");
    std::fs::write(world.inner.path("../secret.txt"), "secret").unwrap();
    assert_eq!(
        world.result("import json, sys\n[json.dumps(1), '' in sys.path, sys.flags.isolated]").await,
        json!(["1", false, 1])
    );
    assert!(!world.inner.path("ran").exists());
    let environment = world.result("import os\n' '.join(os.environ)").await;
    assert!(!environment.as_str().unwrap().contains("OPENAI"), "{environment}");
    assert_eq!(world.result("'site' in __import__('sys').modules").await, json!(false));
    let secret = world.error("open('../secret.txt').read()").await;
    assert!(secret.contains("line 1: open('../secret.txt').read()"), "{secret}");
    let write = world.error("open('/etc/planted', 'w')").await;
    assert!(write.contains("Error"), "{write}");
    let network = "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)";
    assert!(world.error(network).await.contains("OSError"));
    let loopback = "import socket\ns = socket.create_server(('127.0.0.1', 0))\n\
                    c = socket.create_connection(s.getsockname())\nc.send(b'hi')\ns.accept()[0].recv(9).decode()";
    assert_eq!(world.result(loopback).await, json!("hi"));
}

#[tokio::test]
async fn hooks_that_code_plants_are_moved_aside() {
    let Some(world) = World::new().await else { return };
    let plant = "open('.envrc', 'w').write('echo planted')\n1";
    let output = world.output(json!({ "code": plant })).await;
    assert!(output.text.contains("it was moved to"), "{}", output.text);
    assert!(!world.inner.path(".envrc").exists());
}

#[tokio::test]
async fn hooks_that_code_plants_are_written_down_also_where_it_fails_or_takes_too_long() {
    let Some(mut confinement) = confined::confinement().await else { return };
    let aside = tempfile::tempdir().unwrap();
    confinement.policy.aside = Some(aside.path().to_owned());
    let registry = Registry::default().with_python(confinement, PythonConfig::default());
    let world = World { inner: common::World::of(registry, ToolLimits::default()) };
    for (count, end) in ["1", "raise ValueError", "import time; time.sleep(60)"].into_iter().enumerate() {
        let code = format!("open('.envrc', 'w').write('echo planted')\n{end}");
        world.call(json!({ "code": code, "seconds": 8 })).await;
        assert_eq!(common::written_down(aside.path()).len(), count + 1, "{end}");
    }
}

#[tokio::test]
async fn what_a_person_plants_meanwhile_stays() {
    let Some(world) = World::new().await else { return };
    world.result("1").await;
    world.inner.put(".envrc", "of the user");
    world.result("open('a.txt', 'w').write('x')").await;
    assert_eq!(world.inner.content(".envrc"), b"of the user");
    assert!(world.error("open('.envrc', 'w')").await.contains("Error"));
    drop(world.inner.dispatcher);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(std::fs::read(world.inner.folder.path().join("work/.envrc")).unwrap(), b"of the user");
}

#[tokio::test]
async fn without_namespaces_it_is_the_same() {
    let Some(mut confinement) = confined::confinement().await else { return };
    confinement.level = Some(SandboxLevel::Landlock);
    let registry = Registry::default().with_python(confinement, PythonConfig::default());
    let world = World { inner: common::World::of(registry, ToolLimits::default()) };
    assert_eq!(world.result("import json\njson.dumps = None\n1 + 1").await, json!(2));
    let left = "import os, tempfile\nopen(os.path.join(tempfile.gettempdir(), 'left'), 'w').write('x')";
    assert_eq!(world.result(left).await, json!(1));
    let look =
        "import json, os, tempfile\n[json.dumps(1), os.listdir(tempfile.gettempdir()), os.listdir(os.environ['HOME'])]";
    assert_eq!(world.result(look).await, json!(["1", [], []]));
    let output = world.output(json!({ "code": "open('.envrc', 'w').write('echo planted')" })).await;
    assert!(output.text.contains("it was moved to") && !world.inner.path(".envrc").exists(), "{}", output.text);
    let process = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)\n2";
    let output = world.output(json!({ "code": process })).await;
    assert_eq!(told(&output), "[processes that it had started still ran at the end and were ended]\nresult: 2");
}

#[tokio::test]
async fn fifty_at_once_each_get_their_own_result() {
    let Some(world) = World::new().await else { return };
    let code = "import os, time\nopen(f'here-{n}', 'w').close()\n\
                while sum(name.startswith('here-') for name in os.listdir()) < 50: time.sleep(0.02)\nn * n";
    let calls = (0..50).map(|n: u64| {
        let world = &world;
        async move {
            let variables = Arc::new(vec![("n".to_owned(), Arc::new(json!(n)))]);
            let cx = world.with(|cx| cx.around.variables = variables);
            output(world.call_in(json!({ "code": code }), &cx).await)
        }
    });
    let outputs = futures_util::future::join_all(calls).await;
    for (n, output) in outputs.iter().enumerate() {
        assert_eq!(output.value.as_ref().unwrap()["result"], json!(n * n), "{}", output.text);
    }
}

#[tokio::test]
async fn a_python_that_is_missing_or_too_old_is_named_with_the_remedy() {
    let Some(confinement) = confined::confinement().await else { return };
    let old = tempfile::tempdir().unwrap();
    let program = old.path().join("work/python3");
    let python = PythonConfig { program: Some(program.clone()), ..PythonConfig::default() };
    let registry = Registry::default().with_python(confinement, python);
    let world = common::World::of(registry, ToolLimits::default());
    let failure = world.failure("run_python", json!({ "code": "1" })).await;
    assert_eq!(failure.kind, FailureKind::Config);
    assert!(failure.message.contains("does not start") && failure.message.contains("[python] program"), "{failure}");

    let script = "#!/bin/sh\necho cpython 3 7 16 /usr/bin/python3\n";
    world.put("python3", script);
    std::fs::set_permissions(world.path("python3"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let python = PythonConfig { program: Some(world.path("python3")), ..PythonConfig::default() };
    let root = world.place.workspace.root().to_owned();
    let why = python.find(&confined::confinement().await.unwrap(), &root).await.unwrap_err();
    assert!(why.message.contains("is Python 3.7.16, which is too old"), "{why}");
}
