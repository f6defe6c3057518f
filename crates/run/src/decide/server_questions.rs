//! Questions to a person from a tool or server that is being called. The call waits for the answer.
//!
//! A call that is made again asks its questions again. Its second question corresponds to the second question of the
//! earlier attempt. The same words may refer to two different things, so answers are matched by the names of questions
//! and by their order.

use crate::effect::{Effect, Inquiry, PreparedCall};
use crate::event::Event;
use crate::id::EffectAddress;
use crate::message::ToolCall;
use crate::open_effect::{InnerCall, OpenEffect};
use crate::reply::Reply;
use crate::state::Run;

/// How many questions may be asked during one call, over all its attempts.
const MOST: usize = 50;

/// What happened to a question in earlier attempts.
enum EarlierInquiry<'a> {
    /// It is still open at this address.
    Waits(EffectAddress),
    /// It was answered.
    Answered(&'a Reply),
    /// It was not asked, not answered, or it is unclear which answer belongs to it.
    Unknown,
}

impl Run {
    /// Decides about a question. A question that an earlier attempt at the same call asked is not asked twice: it stays
    /// open, or gets the answer from then.
    pub(super) fn inquire(
        &self,
        under: &EffectAddress,
        open: &OpenEffect,
        call: &ToolCall,
        inquiry: &Inquiry,
        prepared: &PreparedCall,
    ) -> Vec<Event> {
        if self.inquired(under, inquiry).is_some() {
            return Vec::new();
        }
        let earlier = self.earlier(under, open, inquiry);
        if let EarlierInquiry::Waits(id) = earlier {
            return vec![Event::Awaited { id }];
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
        if let EarlierInquiry::Answered(reply) = earlier {
            events.push(Event::Replied { id, attempt: 1, reply: reply.clone(), prepared: Vec::new() });
        }
        events
    }

    /// The address at which an earlier attempt's question is still open, for runs from before questions had names.
    pub fn inquired(&self, under: &EffectAddress, inquiry: &Inquiry) -> Option<EffectAddress> {
        let open = self.open.get(under).filter(|_| inquiry.key.is_none())?;
        let waits = |(k, inner): (usize, &InnerCall)| {
            let id = under.within(k as u32);
            (inner.attempt < open.attempt && inner.asks(inquiry) && self.is_inquiry(&id)).then_some(id)
        };
        open.inner.iter().enumerate().find_map(waits)
    }

    /// What happened in earlier attempts to the question with this position.
    fn earlier<'a>(&self, under: &EffectAddress, open: &'a OpenEffect, inquiry: &Inquiry) -> EarlierInquiry<'a> {
        if inquiry.key.is_none() {
            return answered_before_names(open, inquiry).map_or(EarlierInquiry::Unknown, EarlierInquiry::Answered);
        }
        let earlier_asks = open.asked_already(inquiry);
        let before = || open.inner.iter().enumerate().filter(|(_, inner)| inner.attempt < open.attempt);
        let same = || before().filter(|(_, inner)| inner.earlier_asks == earlier_asks && inner.asks(inquiry));
        let waits = |(k, _): (usize, &InnerCall)| Some(under.within(k as u32)).filter(|id| self.is_inquiry(id));
        if let Some(id) = same().find_map(waits) {
            return EarlierInquiry::Waits(id);
        }
        let Some((_, last)) = same().rfind(|(_, inner)| inner.heard().is_some()) else {
            return EarlierInquiry::Unknown;
        };
        let says_the_same =
            |(_, inner): (usize, &InnerCall)| inner.heard().is_none_or(|heard| Some(heard) == last.heard());
        // If several were open at once, the answer may belong to any of them.
        let has_order = !same().any(|(_, inner)| inner.was_concurrent);
        let alike = if has_order {
            same().all(says_the_same)
        } else {
            before().filter(|(_, inner)| inner.asks(inquiry)).all(says_the_same)
        };
        last.heard().filter(|_| alike).map_or(EarlierInquiry::Unknown, EarlierInquiry::Answered)
    }
}

/// A person's answer to the same words in an earlier attempt, unless this attempt has already received it.
fn answered_before_names<'a>(open: &'a OpenEffect, inquiry: &Inquiry) -> Option<&'a Reply> {
    let same = || open.inner.iter().filter(|inner| inner.asks(inquiry));
    if same().any(|inner| inner.attempt == open.attempt) {
        return None;
    }
    same().rev().find_map(InnerCall::heard)
}
