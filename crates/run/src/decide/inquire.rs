//! Questions of someone who is called, put to a person before the call can go on.

use crate::effect::{Effect, Inquiry, Prepared};
use crate::event::Event;
use crate::id::Address;
use crate::message::ToolCall;
use crate::reply::Reply;
use crate::state::{Inner, Open, Run};

/// Questions that may be asked during one call, however often it is made.
const MOST: usize = 50;

impl Run {
    /// Decides about a question. One that an earlier attempt at the same call asked is not asked twice: it goes on
    /// waiting, or is answered as it was then.
    pub(super) fn inquire(
        &self,
        under: &Address,
        open: &Open,
        call: &ToolCall,
        (inquiry, prepared): (&Inquiry, &Prepared),
    ) -> Vec<Event> {
        if self.inquired(under, inquiry).is_some() {
            return Vec::new();
        }
        let id = under.within(open.inner.len() as u32);
        let wished = Event::Wished { id: id.clone(), call: call.clone(), prepared: Box::new(prepared.clone()) };
        let asked = open.inner.iter().filter(|inner| inner.inquiry.is_some()).count();
        if asked >= MOST {
            let why = format!("one call may ask a person {MOST} times");
            let why = crate::reply::Failure::new(crate::reply::FailureKind::Budget, why);
            return vec![wished, Event::Rejected { id, why }];
        }
        let effect =
            Effect::Question { text: inquiry.words(), options: Vec::new(), inquiry: Some(inquiry.clone().into()) };
        let mut events = vec![wished, Event::Wanted { id: id.clone(), effect }];
        if let Some(reply) = earlier_answer(open, inquiry) {
            events.push(Event::Replied { id, attempt: 1, reply: reply.clone(), prepared: Vec::new() });
        }
        events
    }

    /// Where this question of an earlier attempt at the same call still waits.
    pub fn inquired(&self, under: &Address, inquiry: &Inquiry) -> Option<Address> {
        let open = self.open.get(under)?;
        let waits = |(k, inner): (usize, &Inner)| {
            let id = under.within(k as u32);
            (inner.attempt < open.attempt && is_same(inner, inquiry) && self.is_inquiry(&id)).then_some(id)
        };
        open.inner.iter().enumerate().find_map(waits)
    }
}

/// What a person said to the same question in an earlier attempt, unless this attempt has heard it already.
fn earlier_answer<'a>(open: &'a Open, inquiry: &Inquiry) -> Option<&'a Reply> {
    let same = || open.inner.iter().filter(|inner| is_same(inner, inquiry));
    if same().any(|inner| inner.attempt == open.attempt) {
        return None;
    }
    same().rev().find_map(|inner| inner.inquiry.as_ref()?.1.as_ref())
}

fn is_same(inner: &Inner, inquiry: &Inquiry) -> bool {
    inner.inquiry.as_ref().is_some_and(|(asked, _)| **asked == *inquiry)
}
