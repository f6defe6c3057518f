//! `browser_act`: clicks, types, chooses and so on, one action after the other.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::GROUP;
use super::action::{ActionError, PageAction};
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

const NAME: &str = "browser_act";

pub(super) struct BrowserAct {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    actions: Vec<PageAction>,
}

impl BrowserAct {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tab": { "type": "string" },
                "actions": { "type": "array", "items": PageAction::schema(), "minItems": 1, "maxItems": 50 }
            },
            "required": ["tab", "actions"],
            "additionalProperties": false
        });
        let description = "Use the page in a tab: click, fill, select, press keys and so on, in the order given, until \
                           one fails. Returns the page afterwards; references of a page that was left are void.";
        Self { spec: spec(NAME, description, parameters), pool }
    }

    async fn act(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let Args { actions } = parse(&args)?;
        let _turn = open.turn.clone().lock_owned().await;
        for (at, action) in actions.iter().enumerate() {
            // The action before, or another call, may have led to a host that was not asked about.
            let looks = PageAction::only_looks(&action.action);
            let allowed = if looks { Ok(()) } else { self.pool.check_host(NAME, &args, &open) };
            let done = match allowed {
                Ok(()) => action.perform(&open.tab).await,
                Err(failure) => Err(ActionError::Arguments(failure)),
            };
            let why = match done {
                Ok(()) => continue,
                Err(ActionError::Arguments(failure)) if at == 0 => return Err(failure.into()),
                Err(ActionError::Arguments(failure)) => failure.message,
                Err(ActionError::Browser(error)) => match BrowserFault::of(&error, "") {
                    BrowserFault::Own(failure) => failure.message,
                    BrowserFault::OfPage { why, .. } => why,
                },
            };
            let (name, number, all) = (&action.action, at + 1, actions.len());
            return self
                .failed(args, cx, &format!("error: action {number} of {all} ({name}) was not done: {why}"))
                .await;
        }
        // A file that an action asked for is told with it.
        let _ = open.of.browser.wait_downloads().await;
        self.pool.page_after(&open, "").await
    }

    async fn failed(&self, args: Value, cx: &CallContext, why: &str) -> Result<ToolOutput, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let page = self.pool.page_after(&open, why).await?;
        Ok(ToolOutput { is_error: true, ..page })
    }
}

impl Tool for BrowserAct {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = self.pool.options.time;
        ToolTraits { group: GROUP, outside: true, sends: true, time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        let mut actions = args["actions"].as_array().into_iter().flatten();
        let only_looks = actions.all(|action| PageAction::only_looks(action["action"].as_str().unwrap_or_default()));
        if only_looks {
            return PreparedCall { class: EffectClass::Opaque, elsewhere: true, ..PreparedCall::default() };
        }
        self.pool.sending(NAME, args)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.act(args, cx).await) })
    }
}
