//! Tools that code calls, and variants of code that are tried in turn.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, Reply, ToolCall, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, Caller, ToolFuture};

use super::{World, output, told};

/// Answers calls as a run would, and remembers them.
#[derive(Default)]
struct Calls(Mutex<Vec<ToolCall>>);

impl Caller for Calls {
    fn call(&self, call: ToolCall) -> ToolFuture<'_> {
        let args = call.args.clone();
        let reply = match call.name.as_str() {
            "read_file" => Reply::Output(Arc::new(ToolOutput {
                text: format!("text of {}", args["path"]),
                ..ToolOutput::default()
            })),
            "data" => Reply::Output(Arc::new(ToolOutput {
                text: "in words".into(),
                value: Some(json!({ "n": args })),
                untrusted: true,
                origins: vec!["https://example.com/".into()],
                ..ToolOutput::default()
            })),
            "write_file" => Reply::Failed(Failure::new(FailureKind::Security, "needs approval; ask for it yourself")),
            _ => Reply::Output(Arc::new(ToolOutput {
                text: "went wrong".into(),
                is_error: true,
                ..ToolOutput::default()
            })),
        };
        self.0.lock().unwrap().push(call);
        Box::pin(async move { reply })
    }

    fn class(&self, call: &ToolCall) -> EffectClass {
        if call.name == "read_file" { EffectClass::Pure } else { EffectClass::Opaque }
    }
}

fn with_tools(world: &World) -> (Arc<Calls>, CallContext) {
    let calls = Arc::new(Calls::default());
    let spec = |name: &str, parameters| ToolSpec { name: name.into(), description: String::new(), parameters };
    let read = spec("read_file", json!({ "properties": { "from": {}, "path": {} }, "required": ["path"] }));
    let tools = vec![read, spec("data", json!({ "properties": { "a": {} } })), spec("a-b", json!({}))];
    let cx = world.with(|cx| {
        cx.around.caller = Some(Arc::clone(&calls) as Arc<dyn Caller>);
        cx.around.tools = tools.into();
    });
    (calls, cx)
}

#[tokio::test]
async fn tools_are_functions() {
    let Some(world) = World::new().await else { return };
    let (calls, cx) = with_tools(&world);
    let code = r#"
got = [read_file(path="a"), read_file("b", 3), tools.read_file({"path": "c"}), call_tool("read_file", {"path": "d"})]
got += [str(data(a=1)), data(a=2)["n"]]
for bad in (lambda: tools.write_file(path="x"), lambda: call_tool("other"), lambda: read_file(1, 2, 3)):
    try: bad()
    except Exception as error: got.append(f"{type(error).__name__}: {error}")
got
"#;
    let output = output(world.call_in(json!({ "code": code }), &cx).await);
    let wanted = json!([
        "text of \"a\"", "text of \"b\"", "text of \"c\"", "text of \"d\"", "in words", { "a": 2 },
        "ToolError: needs approval; ask for it yourself", "ToolError: went wrong",
        "TypeError: read_file takes path, from; 3 values were given"
    ]);
    assert_eq!(output.value.as_ref().unwrap_or(&Value::Null)["result"], wanted, "{}", output.text);
    assert_eq!((output.untrusted, output.origins.clone()), (true, vec!["https://example.com/".to_owned()]));
    let calls = calls.0.lock().unwrap();
    let second = ToolCall {
        id: "code.2".into(),
        name: "read_file".into(),
        args: json!({ "path": "b", "from": 3 }),
        fault: None,
    };
    assert_eq!((calls.len(), &calls[1]), (8, &second));
}

#[tokio::test]
async fn threads_may_call_tools_at_once() {
    let Some(world) = World::new().await else { return };
    let (calls, cx) = with_tools(&world);
    let code = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n  \
                got = list(pool.map(lambda n: read_file(path=str(n)), range(100)))\ngot == ['text of \"%d\"' % n for n in range(100)]";
    let output = output(world.call_in(json!({ "code": code }), &cx).await);
    assert_eq!(output.value.as_ref().unwrap()["result"], json!(true), "{}", output.text);
    assert_eq!(calls.0.lock().unwrap().len(), 100);
}

#[tokio::test]
async fn without_a_run_tools_cannot_be_called() {
    let Some(world) = World::new().await else { return };
    let told = world.error("tools.read_file(path='a')").await;
    assert_eq!(
        told,
        "ToolError: tools cannot be called from code here: this call does not belong to a run\n  \
         line 1: tools.read_file(path='a')"
    );
    let (_, cx) = with_tools(&world);
    let output = output(world.call_in(json!({ "code": "call_tool('run_python', code='1')" }), &cx).await);
    assert!(output.text.contains("`run_python` cannot be called from code"), "{}", output.text);
}

#[tokio::test]
async fn variants_are_tried_until_one_succeeds() {
    let Some(world) = World::new().await else { return };
    let output = world.output(json!({ "variants": ["1 / 0", "import nothing", "3"] })).await;
    assert_eq!(
        told(&output),
        "[variant 1 failed: ZeroDivisionError: division by zero;   line 1: 1 / 0]\n\
         [variant 2 failed: ModuleNotFoundError: No module named 'nothing';   line 1: import nothing]\n\
         [variant 3 of 3 succeeded]\nresult: 3"
    );
    assert_eq!(output.value.as_ref().unwrap()["variant"], 3);
    let both = world.output(json!({ "code": "x", "variants": ["4"] })).await;
    assert_eq!(both.value.as_ref().unwrap()["result"], 4);
    let failure = world.inner.failure("run_python", json!({})).await;
    assert_eq!(failure.message, "`run_python` takes `code`, or from 1 to 8 `variants`; found 0");
}

#[tokio::test]
async fn no_variant_follows_one_that_had_an_effect() {
    let Some(world) = World::new().await else { return };
    world.inner.put("folder/kept.txt", "kept");
    let effects = [
        ("open('new.txt', 'w').close()\n1 / 0", "it changed `new.txt`"),
        ("open('folder/kept.txt', 'r+').write('K')\n1 / 0", "it changed `folder/kept.txt`"),
        ("import os\nos.utime('folder/kept.txt', (0, 0))\n1 / 0", "it changed `folder/kept.txt`"),
        ("import os\nos.remove('folder/kept.txt')\n1 / 0", "it changed `folder/kept.txt`"),
    ];
    for (code, why) in effects {
        let output = world.output(json!({ "variants": [code, "'second'"] })).await;
        assert!(
            output.is_error && output.text.contains(&format!("[the others were not tried: {why}]")),
            "{}",
            output.text
        );
    }
    let (calls, cx) = with_tools(&world);
    let opaque = json!({ "variants": ["data(a=1)\n1 / 0", "2"] });
    let text = output(world.call_in(opaque, &cx).await).text.clone();
    assert!(text.contains("it called `data`, which must not be done twice"), "{text}");
    let pure = json!({ "variants": ["read_file(path='a')\n1 / 0", "2"] });
    assert!(!output(world.call_in(pure, &cx).await).is_error);
    assert_eq!(calls.0.lock().unwrap().len(), 2);
}
