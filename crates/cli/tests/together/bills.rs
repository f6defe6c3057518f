//! A provider that bills every request it receives, in full and more, whether its answer is still wanted or not.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::fakes::{Counted, Fake, Turn};
use crate::server::{Request, Response, serve};
use crate::world::Dice;

/// Billionths of a dollar per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// How reasoning is billed on top of an answer that fills its cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reasoning {
    /// In hundredths of the cap.
    pub(crate) percent: u64,
    pub(crate) told: Told,
}

/// Where the provider reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// In what was written.
    Inside,
    /// Beside it, so that only the sum gives it away.
    Beside,
}

/// The provider, and what it will ask to be paid.
pub(crate) struct Biller {
    pub(crate) address: SocketAddr,
    bill: Arc<Bill>,
}

struct Bill {
    cost: AtomicU64,
    requests: AtomicU64,
    dice: Mutex<Dice>,
}

impl Biller {
    pub(crate) fn start(fake: Fake, price: Price, reasoning: Reasoning, seed: u64) -> Self {
        let bill =
            Arc::new(Bill { cost: AtomicU64::new(0), requests: AtomicU64::new(0), dice: Mutex::new(Dice(seed)) });
        let shared = Arc::clone(&bill);
        let address = serve(move |request| answer(fake, price, reasoning, request, &shared));
        Self { address, bill }
    }

    /// In billionths of a dollar.
    pub(crate) fn cost(&self) -> u64 {
        self.bill.cost.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.bill.requests.load(Ordering::SeqCst)
    }
}

fn answer(fake: Fake, price: Price, reasoning: Reasoning, request: &Request, bill: &Bill) -> Response {
    if !fake.is_asked(request) {
        return fake.about(request);
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let (cap, input) = (fake.cap(&body), request.body.len() as u64 / 2);
    let thought = cap * reasoning.percent / 100;
    let counted = Counted {
        input,
        output: if reasoning.told == Told::Inside { cap + thought } else { cap },
        reasoning: thought,
        total: input + cap + thought,
    };
    bill.cost.fetch_add(input * price.read + (cap + thought) * price.written, Ordering::SeqCst);
    let number = bill.requests.fetch_add(1, Ordering::SeqCst);
    // Answers take their time, each another; a client that is killed meanwhile is billed all the same.
    let time = 5 + bill.dice.lock().unwrap_or_else(PoisonError::into_inner).below(60);
    std::thread::sleep(Duration::from_millis(time));
    fake.answer(&Turn::Call(number as usize), &counted)
}
