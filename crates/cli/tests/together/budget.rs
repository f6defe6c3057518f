//! Ten steps at once with a dollar to spend, killed twice, against providers that bill all they can.
//!
//! The moments of the kills come from a seed that is printed; `UPDRAFT_BILL_SEED` repeats them, and
//! `UPDRAFT_BILL_ROUNDS` asks for more, and for every price.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bills::{Biller, Price, Reasoning, Told};
use crate::fakes::Fake;
use crate::world::{Dice, Process, Ran, World, environment};

const DOLLAR: u64 = 1_000_000_000;

/// With the first, ten calls at once may cost more than a dollar; with the second the run asks some hundred times.
const PRICES: [Price; 2] = [Price { read: 1_000, written: 4_000 }, Price { read: 200, written: 800 }];

/// The exit code where a budget is used up.
const USED_UP: Option<i32> = Some(4);

const fn inside(percent: u64) -> Reasoning {
    Reasoning { percent, told: Told::Inside }
}

const fn beside(percent: u64) -> Reasoning {
    Reasoning { percent, told: Told::Beside }
}

#[test]
fn a_dollar_holds_where_chat_bills_reasoning_on_top() {
    holds(Fake::Chat, &[inside(0), inside(50), inside(100), inside(200), beside(50), beside(100), beside(200)]);
}

#[test]
fn a_dollar_holds_where_gemini_bills_thoughts_on_top() {
    holds(Fake::Gemini, &[beside(50), beside(100), beside(200)]);
}

#[test]
fn a_dollar_holds_where_anthropic_bills_thinking_on_top() {
    holds(Fake::Anthropic, &[inside(50), inside(100), inside(200)]);
}

#[test]
fn a_dollar_holds_where_responses_bill_reasoning_on_top() {
    holds(Fake::Responses, &[inside(50), inside(100), inside(200)]);
}

#[test]
fn a_dollar_holds_where_ollama_bills_thinking_on_top() {
    holds(Fake::Ollama, &[inside(50), inside(100), inside(200)]);
}

fn holds(fake: Fake, ways: &[Reasoning]) {
    let seed = environment("UPDRAFT_BILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let Some(rounds) = environment("UPDRAFT_BILL_ROUNDS") else {
        for (reasoning, price) in ways.iter().zip(PRICES.iter().cycle()) {
            a_dollar_holds(fake, *price, *reasoning, seed);
        }
        return;
    };
    for round in 0..rounds {
        for reasoning in ways {
            for price in PRICES {
                a_dollar_holds(fake, price, *reasoning, seed + round);
            }
        }
    }
}

fn a_dollar_holds(fake: Fake, price: Price, reasoning: Reasoning, seed: u64) {
    let what = format!("{} {price:?} {reasoning:?} seed {seed}", fake.name());
    let mut dice = Dice(seed);
    let biller = Biller::start(fake, price, reasoning, seed);
    let world = World::new(&config(fake, price, &biller));
    let plan = world.file("plan.json", &plan().to_string());
    let plan = plan.to_str().unwrap();

    let run = ["run", "--model", "fake/m", "--plan", plan, "--budget", "1.00", "look everywhere"];
    let mut killed = u32::from(work_and_kill(&world, &run, &biller, dice.below(6), dice.below(60)));
    let run = world.run();
    killed += u32::from(work_and_kill(&world, &["resume", &run], &biller, dice.below(6), dice.below(60)));
    let ended = world.updraft(&["resume", &run]);

    let (cost, requests) = (biller.cost(), biller.requests());
    println!("{what}: {killed} kills, {requests} requests, ${:.3}", cost as f64 / DOLLAR as f64);
    assert!(cost <= DOLLAR, "{what}: {cost} billed\n{}", shown(&world, &ended));
    assert_eq!(ended.code, USED_UP, "{what}: {ended:?}");

    let ended = world.updraft(&["resume", &run, "--budget", "2.00"]);
    let raised = biller.cost();
    assert!(raised <= 2 * DOLLAR, "{what}: {raised} billed of two dollars");
    assert!(biller.requests() > requests && raised > DOLLAR, "{what}: more money lets it go on: {ended:?}");
    assert_eq!(ended.code, USED_UP, "{what}: {ended:?}");
    let replayed = world.updraft(&["replay", &run]);
    assert_eq!(replayed.code, Some(0), "{what}: {replayed:?}");
}

#[test]
fn a_dollar_is_used_for_all_the_answers_that_fit_in_it() {
    // An answer that fills its cap of a thousand tokens costs 33 cents.
    let price = Price { read: 0, written: 330_000 };
    let biller = Biller::start(Fake::Chat, price, inside(0), 1);
    let world = World::new(&format!("max_output = 1000\n{}", config(Fake::Chat, price, &biller)));
    let ended = world.updraft(&["run", "--agent", "retriever", "--model", "fake/m", "--budget", "1.00", "look"]);
    assert_eq!(ended.code, USED_UP, "{ended:?}");
    assert_eq!((biller.requests(), biller.cost()), (3, 990_000_000), "a fourth does not fit: {}", ended.err);
}

/// Lets a process work until so many more requests have reached the provider, and a little longer.
fn work_and_kill(world: &World, arguments: &[&str], biller: &Biller, requests: u64, then: u64) -> bool {
    let before = biller.requests();
    let mut process = Process::start(world.command(arguments));
    while biller.requests() <= before + requests && process.is_running() {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(then));
    process.kill()
}

fn config(fake: Fake, price: Price, biller: &Biller) -> String {
    let dollars = |nano: u64| nano as f64 / 1_000.0;
    format!(
        "turns = 60\n\
         [providers.fake]\nbase_url = \"http://{}{}\"\nspeaks = \"{}\"\n\
         [prices.\"fake/m\"]\ninput = {:?}\noutput = {:?}\n",
        biller.address,
        fake.base(),
        fake.name(),
        dollars(price.read),
        dollars(price.written)
    )
}

fn plan() -> Value {
    let step = |n: u32| json!({ "id": format!("s{n}"), "agent": "retriever", "prompt": format!("look {n}"), "writes": [format!("v{n}")] });
    json!({ "steps": (0..10).map(step).collect::<Vec<_>>() })
}

fn shown(world: &World, ended: &Ran) -> String {
    let spent: Vec<String> = (world.updraft(&["events", &world.run()]).out.lines())
        .filter(|line| ["reserved", "held", "interrupted", "exhausted", "begun"].iter().any(|word| line.contains(word)))
        .map(str::to_owned)
        .collect();
    format!("{}\n{}", spent.join("\n"), ended.err)
}
