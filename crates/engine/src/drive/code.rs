//! Calls from code: a tool at work wishes for one, and hears its reply once that is on disk.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use updraft_run::{Address, Class, Event, Input, Record, Reply, ToolCall};
use updraft_tools::{Around, Caller};

use super::{Drive, Mail};
use crate::context::{Ended, Past};
use crate::conversation::behind;
use crate::perform::Perform;

/// Wishes that wait at the same time; whoever has more waits to wish.
pub(crate) const MOST_WISHES: usize = 256;

/// A call that code asks for, and who hears of its end.
pub(crate) struct Wish {
    under: Address,
    call: ToolCall,
    heard: oneshot::Sender<Reply>,
}

/// What a call is given so that its code can call tools.
struct Wishing {
    under: Address,
    send: mpsc::Sender<Wish>,
    hands: Arc<dyn Perform>,
    workspace: String,
}

impl Caller for Wishing {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(async move {
            let (heard, hears) = oneshot::channel();
            let wish = Wish { under: self.under.clone(), call, heard };
            // Nobody there means that the run goes on without this code.
            if self.send.send(wish).await.is_err() {
                return Reply::Cancelled;
            }
            hears.await.unwrap_or(Reply::Cancelled)
        })
    }

    fn class(&self, call: &ToolCall) -> Class {
        self.hands.prepare(&self.workspace, call).class
    }
}

impl Drive {
    /// A wish as the run hears it, looked at without effect.
    pub(super) fn take_wish(&self, wish: Wish) -> Option<Mail> {
        let Wish { under, call, heard } = wish;
        if self.engine.stop.is_cancelled() {
            // It would not begin any more. Nobody to hear it is no loss.
            let _ = heard.send(Reply::Cancelled);
            return None;
        }
        let prepared = Box::new(self.look_at(&under.step, &call));
        Some(Mail { input: Input::Wished { under, call, prepared }, row: None, heard: Some(heard) })
    }

    /// Remembers who hears of a wish, or says at once why nothing comes of it.
    pub(super) fn remember(&mut self, heard: oneshot::Sender<Reply>, record: &Record) {
        match (record.events.first(), &record.input) {
            (Some(Event::Wished { id, .. }), _) => {
                self.listening.insert(id.clone(), heard);
            }
            (_, Input::Wished { under, .. }) => {
                let _ = heard.send(self.run.unheard(under));
            }
            _ => {}
        }
    }

    /// What code will hear of these records once they are on disk.
    pub(super) fn news_for_code(&mut self, records: &[Record]) -> Vec<(oneshot::Sender<Reply>, Reply)> {
        if self.listening.is_empty() {
            return Vec::new();
        }
        let events = records.iter().flat_map(|record| &record.events);
        let news = events.filter_map(|event| match event {
            Event::Replied { id, reply, .. } => Some((self.listening.remove(id)?, reply.clone())),
            Event::Rejected { id, why } => Some((self.listening.remove(id)?, Reply::Failed(why.clone()))),
            _ => None,
        });
        news.collect()
    }

    /// What a tool may know of the run: the variables are those its step began with, so that a resumed run sees the same.
    pub(super) fn around(&self, id: &Address) -> Around {
        let Some(step) = self.run.step(&id.step) else { return Around::default() };
        let variables = step.opening.as_ref().map(|opening| Arc::new(opening.inputs.clone())).unwrap_or_default();
        let (intent, context, before) =
            (self.run.goal().text.clone(), Arc::clone(&self.context.1), behind(&self.run, step));
        let told = move || {
            let history: Vec<Past> = before.iter().map(Ended::told).collect();
            context.to_json(&intent, &history)
        };
        let agent = self.kit.agent(&step.spec.agent);
        let caller = Wishing {
            under: id.clone(),
            send: self.wishing.clone(),
            hands: Arc::clone(&self.engine.hands),
            workspace: self.run.settings().workspace.clone(),
        };
        Around {
            run: self.id.to_string(),
            step: id.step.to_string(),
            variables,
            context: Some(Arc::new(told)),
            tools: agent.map(|agent| Arc::clone(&agent.tools)).unwrap_or_default(),
            caller: Some(Arc::new(caller)),
        }
    }
}
