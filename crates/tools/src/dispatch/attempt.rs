//! Makes one attempt at a call: enforces its time limit, stops it when asked, and catches panics.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinError;
use updraft_run::{Millis, Reply};

use super::ToolPanic;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// Calls the tool once. `cx` belongs to this attempt alone: it is cancelled when the attempt is over.
pub(super) async fn make(tool: &Arc<dyn Tool>, args: Value, cx: &CallContext, grace: Duration) -> Reply {
    if cx.cancel.is_cancelled() {
        return Reply::Cancelled;
    }
    let _stop = cx.cancel.clone().drop_guard();
    let traits = tool.traits();
    if traits.blocking {
        on_a_thread(tool, args, cx, traits, grace).await
    } else {
        in_place(tool, args, cx, traits).await
    }
}

async fn in_place(tool: &Arc<dyn Tool>, args: Value, cx: &CallContext, traits: ToolTraits) -> Reply {
    let name = &tool.spec().name;
    tokio::select! {
        biased;
        reply = unless_panicking(name, || tool.call(args, cx)) => reply,
        reply = stopped(cx, traits) => reply,
    }
}

async fn on_a_thread(
    tool: &Arc<dyn Tool>,
    args: Value,
    cx: &CallContext,
    traits: ToolTraits,
    grace: Duration,
) -> Reply {
    let name = &tool.spec().name;
    let mut thread = {
        let (tool, cx, runtime) = (Arc::clone(tool), cx.clone(), Handle::current());
        tokio::task::spawn_blocking(move || runtime.block_on(tool.call(args, &cx)))
    };
    let stopped = tokio::select! {
        biased;
        joined = &mut thread => return reply_of(joined, name),
        reply = stopped(cx, traits) => reply,
    };
    // A thread cannot be ended from outside. It is told to stop, and if its outcome matters, waited for.
    cx.cancel.cancel();
    if traits.class.is_repeatable() {
        thread.abort();
        return stopped;
    }
    match tokio::time::timeout(grace, &mut thread).await {
        Ok(joined) => match reply_of(joined, name) {
            Reply::Cancelled => stopped,
            outcome => outcome,
        },
        Err(_) => Reply::InDoubt {
            evidence: format!("`{name}` was told to stop and had not ended {} ms later", grace.as_millis()),
        },
    }
}

/// Waits until the call must stop, and returns the reply that says why.
async fn stopped(cx: &CallContext, traits: ToolTraits) -> Reply {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Reply::Cancelled,
        () = tokio::time::sleep(traits.time) => Reply::TimedOut { limit: Millis(traits.time.as_millis() as u64) },
    }
}

async fn unless_panicking<'a>(name: &str, start: impl FnOnce() -> ToolFuture<'a>) -> Reply {
    let panicked = || Reply::Failed(ToolPanic::of(name).0);
    let Ok(mut calling) = catch_unwind(AssertUnwindSafe(start)) else { return panicked() };
    let poll = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| calling.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(_) => Poll::Ready(panicked()),
    });
    poll.await
}

fn reply_of(joined: Result<Reply, JoinError>, name: &str) -> Reply {
    match joined {
        Ok(reply) => reply,
        // The runtime shut down before the thread started.
        Err(error) if error.is_cancelled() => Reply::Cancelled,
        Err(_) => Reply::Failed(ToolPanic::of(name).0),
    }
}
