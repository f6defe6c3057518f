//! What is expected of bills: nothing good before the first, then what was seen; and each model for itself.

use std::sync::Arc;

use crate::support::{World, at, calls, costs, given, says};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use updraft_run::{Budget, Ceiling, Cost, Effect, EffectAddress, Funds, Input, RunStart};

fn tokens(limit: u64, start: RunStart) -> World {
    World::of(RunStart { budget: Budget { tokens: Some(limit), ..Budget::default() }, ..start })
}

fn ask(step: &str) -> EffectAddress {
    at(&format!("{step}/0/0/ask.0"))
}

fn estimate(world: &mut World, id: &EffectAddress, tokens: u64) {
    world.feed(Input::Estimated { id: id.clone(), ceiling: Ceiling { tokens, cost: Some(Cost(tokens)) } });
}

/// Which of these steps may ask now, each for at most ten tokens.
fn may_ask(world: &mut World, steps: &[&str]) -> Vec<String> {
    for step in steps {
        estimate(world, &ask(step), 10);
    }
    going(world)
}

fn going(world: &World) -> Vec<String> {
    let reserved = world.run.open().iter().filter(|(_, open)| matches!(open.funds, Funds::Reserved(_)));
    reserved.map(|(id, _)| id.step.to_string()).collect()
}

#[test]
fn before_the_first_bill_each_call_is_taken_for_three_and_half_the_budget_stays() {
    let mut world = tokens(180, given(&["a", "b", "c", "d", "e"]));
    assert_eq!(may_ask(&mut world, &["a", "b", "c", "d", "e"]), ["a", "b", "c"]);
    world.reply(&ask("a"), costs(10, says("A")));
    assert_eq!(going(&world), ["b", "c", "d", "e"], "bills keep to their ceilings here");
}

#[test]
fn where_the_first_bill_goes_beyond_its_ceiling_the_others_wait_for_more() {
    let steps = ["a", "b", "c", "d", "e", "f", "g"];
    let mut world = tokens(180, given(&steps));
    assert_eq!(may_ask(&mut world, &steps), ["a", "b", "c"]);
    world.reply(&ask("a"), costs(30, says("A")));
    assert_eq!(going(&world), ["b", "c", "d", "e"]);
    for step in ["b", "c", "d", "e"] {
        world.reply(&ask(step), costs(30, says("it")));
    }
    assert_eq!((going(&world), world.run.ledger().usage.tokens()), (Vec::new(), 150));
}

#[test]
fn one_call_goes_first_where_nobody_knows_and_no_three_of_it_fit() {
    let mut world = tokens(25, given(&["a", "b"]));
    assert_eq!(may_ask(&mut world, &["a", "b"]), ["a"]);
    world.reply(&ask("a"), costs(5, says("A")));
    assert_eq!(going(&world), ["b"]);
}

#[test]
fn two_processes_that_end_before_the_first_bill_leave_something_to_go_on_with() {
    let mut world = tokens(100, given(&["a", "b", "c"]));
    may_ask(&mut world, &["a", "b", "c"]);
    for first in ["a", "b"] {
        assert_eq!(going(&world), [first]);
        world.begin(&ask(first));
        world.recover(Vec::new());
    }
    assert_eq!(going(&world), ["c"]);
    world.reply(&ask("c"), costs(10, says("C")));
    assert_eq!(may_ask(&mut world, &["a", "b"]), ["a", "b"]);
}

#[test]
fn many_bills_beyond_their_ceilings_were_multiplied_with_each_other() {
    let mut world = tokens(1_000, given(&["a", "b", "c", "d", "e", "f", "g", "h"]));
    may_ask(&mut world, &["a", "b", "c", "d", "e", "f", "g"]);
    for step in ["a", "b", "c", "d", "e", "f", "g"] {
        world.reply(&ask(step), costs(20, says("it")));
    }
    assert_eq!(may_ask(&mut world, &["h"]), ["h"], "140 of 1000 are used");
}

#[test]
fn what_one_model_bills_says_nothing_about_another() {
    let mut start = given(&["a", "b:coder", "c:coder", "d:coder"]);
    let roster = Arc::make_mut(&mut start.roster);
    roster.agents.iter_mut().filter(|card| card.name == "coder").for_each(|card| card.model = Some("other/m".into()));
    let mut world = tokens(140, start);
    may_ask(&mut world, &["a"]);
    world.reply(&ask("a"), costs(10, says("A")));
    assert_eq!(may_ask(&mut world, &["b", "c", "d"]), ["b", "c"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A provider that bills up to three times the ceiling, in the same way each time; calls of any size up to a
    /// third of the budget; processes that end at any moment. What is cut off is billed too.
    #[test]
    fn bills_up_to_three_times_the_ceiling_never_break_the_budget(
        percent in 10_u64..=300,
        sizes in prop::collection::vec(1_u64..=333, 1..12),
        deeds in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let steps: Vec<String> = (0..6).map(|n| format!("s{n}")).collect();
        let mut world = tokens(100_000, given(&steps.iter().map(String::as_str).collect::<Vec<_>>()));
        // Hundreds, so that each bill is the same share of its ceiling.
        let bill = |ceiling: u64| ceiling / 100 * percent;
        let mut size = sizes.iter().cycle();
        let (mut billed, mut out) = (0, Vec::<(EffectAddress, u64)>::new());
        for deed in deeds {
            let asks = world.run.open().iter().filter(|(_, open)| open.effect == Effect::Ask && open.funds == Funds::None);
            for id in asks.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
                estimate(&mut world, &id, 100 * size.next().unwrap());
            }
            let reserved = world.run.open().iter().filter_map(|(id, open)| match open.funds {
                Funds::Reserved(ceiling) if open.begun.is_none() => Some((id.clone(), ceiling.tokens)),
                Funds::Reserved(_) | Funds::Held(_) | Funds::None => None,
            });
            for (id, ceiling) in reserved.collect::<Vec<_>>() {
                world.begin(&id);
                billed += bill(ceiling);
                out.push((id, ceiling));
            }
            assert!(billed <= 100_000, "{billed} were billed");
            if deed % 7 == 0 {
                world.recover(Vec::new());
                out.clear();
            } else if !out.is_empty() {
                let (id, ceiling) = out.swap_remove(usize::from(deed) % out.len());
                world.reply(&id, costs(bill(ceiling), calls(&["no_such_tool"])));
            }
        }
    }
}
