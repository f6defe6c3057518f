//! Facts planted in random folders are found and quoted; what is not there is said not to be there.

use super::world::World;

const FOLDERS: u64 = 12;

/// A small generator of pseudo-random numbers: the same seed gives the same folder.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % below as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.roll(list.len())]
    }

    fn name(&mut self) -> String {
        let starts = [
            "Mar", "Kes", "Os", "Bel", "Thor", "Var", "Lin", "Quen", "Dra", "Hol", "Jas", "Mür", "Grö", "Sel", "Tam",
            "Wick",
        ];
        let middles = ["", "lo", "ti", "pa", "ra", "en", "du", "mi"];
        let ends =
            ["we", "trel", "prey", "mond", "wick", "by", "ford", "dale", "stad", "ley", "nau", "gard", "low", "rün"];
        format!("{}{}{}", self.pick(&starts), self.pick(&middles), self.pick(&ends))
    }
}

/// A way to say something, ways to ask for it, and the same as data.
struct Template {
    says: &'static str,
    asks: &'static [&'static str],
    /// Words for a heading, a key or a column.
    key: &'static str,
}

const TEMPLATES: &[Template] = &[
    Template {
        says: "The reservoir at {e} holds {n} litres.",
        asks: &[
            "How much does the reservoir at {e} hold?",
            "What is the capacity of {e}'s reservoir?",
            "How many litres does the {e} reservoir hold?",
        ],
        key: "reservoir_capacity",
    },
    Template {
        says: "The launch code of station {e} is {n}.",
        asks: &[
            "What is the launch code of station {e}?",
            "What's {e}'s launch code?",
            "Tell me the code for launching from {e}.",
        ],
        key: "launch_code",
    },
    Template {
        says: "Station {e} was opened in {n}.",
        asks: &[
            "When did station {e} open?",
            "In which year was {e} opened?",
            "What is the opening year of Station {e}?",
        ],
        key: "opened",
    },
    Template {
        says: "{e} employs {n} welders.",
        asks: &[
            "How many welders does {e} employ?",
            "How many welders are employed at {e}?",
            "What number of welders has {e}?",
        ],
        key: "welders",
    },
    Template {
        says: "The old bridge near {e} weighs {n} tonnes.",
        asks: &[
            "What is the weight of the bridge near {e}?",
            "How much does the old bridge near {e} weigh?",
            "How heavy is the bridge at {e}?",
        ],
        key: "bridge_weight",
    },
    Template {
        says: "Every {n} days the {e} filter is cleaned.",
        asks: &[
            "How often is the {e} filter cleaned?",
            "How often do they clean the filter of {e}?",
            "How many days until the {e} filter is cleaned?",
        ],
        key: "filter_cleaned_days",
    },
    Template {
        says: "Requests through the {e} gateway time out after {n} ms.",
        asks: &[
            "When do requests through the {e} gateway time out?",
            "What is the time out of the {e} gateway?",
            "After how many ms does a request through {e} time out?",
        ],
        key: "gateway_time_out",
    },
    Template {
        says: "Invoice INV-{n} was paid by {e} in March.",
        asks: &["Which invoice was paid by {e}?", "Which invoice did {e} pay?", "What invoices has {e} paid?"],
        key: "paid_invoice",
    },
    Template {
        says: "The ferry to {e} leaves at pier {n}, even in winter.",
        asks: &[
            "From which pier does the ferry to {e} leave?",
            "At which pier does the {e} ferry leave?",
            "Where do ferries leave for {e}?",
        ],
        key: "ferry_pier",
    },
    Template {
        says: "Der Speicher in {e} fasst {n} Liter.",
        asks: &[
            "Wie viel Liter fasst der Speicher in {e}?",
            "Was fasst der Speicher in {e}?",
            "Wieviel fasst der Speicher von {e}?",
        ],
        key: "speicher_liter_fasst",
    },
];

const FILLER: &str = "water the meeting notes a plan for spring with people and boats on green hills over an old road where nobody said much about \
    painting doors the report was late again so we waited for tea and read a book of maps code review station office launch party holds opened \
    litres weighs days filter bridge data capacity cleaned pier winter request value version";

fn filler(dice: &mut Dice, words: usize) -> String {
    let list: Vec<&str> = FILLER.split_whitespace().collect();
    let mut text = String::new();
    let mut at_start = true;
    for _ in 0..words {
        let word = dice.pick(&list);
        if !text.is_empty() {
            text.push(' ');
        }
        if at_start {
            let mut letters = word.chars();
            text.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
        } else {
            text.push_str(word);
        }
        at_start = dice.roll(11) == 0;
        if at_start {
            text.push('.');
        }
    }
    text.push('.');
    text
}

fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if lines.last().unwrap().len() + word.len() > width {
            lines.push(String::new());
        }
        let line = lines.last_mut().unwrap();
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.join("\n")
}

struct Fact {
    entity: String,
    number: String,
}

/// Writes a fact into a new file of some kind, in the middle of other things.
fn plant(dice: &mut Dice, world: &World, at: usize, template: &Template, fact: &Fact) {
    let said = template.says.replace("{e}", &fact.entity).replace("{n}", &fact.number);
    let before = filler(dice, 60);
    let after = filler(dice, 60);
    let folder = dice.pick(&["", "docs/", "src/deep/er/", "notes/2021/"]).to_owned();
    let file = |extension: &str| format!("{folder}f{at}.{extension}");
    let lower = fact.entity.to_lowercase();
    let words = template.key.replace('_', " ");
    match dice.roll(11) {
        0 => world.write(&file("md"), &format!("# Notes\n\n{before}\n\n{before} {said} {after}\n")),
        1 => world.write(&file("txt"), &format!("{}\n", wrapped(&format!("{before} {said} {after}"), 60))),
        2 => {
            world.write(&file("rs"), &format!("//! {before}\n\n/// {said}\npub fn value() -> u32 {{\n    {at}\n}}\n"));
        }
        3 => world.write(&file("toml"), &format!("# {said}\nvalue = true\n\n[other]\nvalue = 3\n")),
        4 => world.write(
            &file("toml"),
            &format!("[alpha]\n{} = 12\n\n[{lower}]\n{} = \"{}\"\n", template.key, template.key, fact.number),
        ),
        5 => world.write(
            &file("csv"),
            &format!(
                "name,{},remark\nAlpha,12,none\n{},{},none\nOmega,13,none\n",
                template.key, fact.entity, fact.number
            ),
        ),
        6 => world.write(
            &file("md"),
            &format!(
                "# Places\n\n## {}\n\n{}: {}.\n\n## Alpha\n\n{words}: 12.\n",
                fact.entity,
                capitalised(&words),
                fact.number
            ),
        ),
        7 => {
            let lines: Vec<String> = (0..2_600).map(|_| filler(dice, 9)).collect();
            let half = 1_900 + dice.roll(500);
            world.write(&file("txt"), &format!("{}\n{said}\n{}\n", lines[..half].join("\n"), lines[half..].join("\n")));
        }
        8 => world.write(
            &file("md"),
            &format!(
                "# Table\n\n| name | {words} |\n|---|---|\n| Alpha | 12 |\n| {} | {} |\n",
                fact.entity, fact.number
            ),
        ),
        9 => world.write(&file("py"), &format!("import os\n\n# {said}\nVALUE = {at}\n")),
        _ => world.write(&file("md"), &format!("# List\n\n- {}\n- {said}\n- {}\n", filler(dice, 8), filler(dice, 8))),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

#[test]
fn planted_facts_are_quoted_and_absent_ones_are_not_invented() {
    let (mut found, mut first, mut refused, mut mistaken) = (0, 0, 0, 0);
    for seed in 0..FOLDERS {
        let mut dice = Dice(seed.wrapping_mul(7_919) + 17);
        let world = World::new();
        let template = &TEMPLATES[dice.roll(TEMPLATES.len())];
        let mut facts: Vec<Fact> = Vec::new();
        while facts.len() < 4 {
            let fact = Fact { entity: dice.name(), number: (1_300 + dice.roll(8_000)).to_string() };
            if !facts.iter().any(|other| other.entity == fact.entity || other.number == fact.number) {
                facts.push(fact);
            }
        }
        let absent = facts.pop().unwrap();
        for (at, fact) in facts.iter().enumerate() {
            plant(&mut dice, &world, at, template, fact);
        }
        for at in 0..3 + dice.roll(12) {
            let extension = dice.pick(&["md", "txt", "rs", "log"]);
            let words = 40 + dice.roll(200);
            let text = wrapped(&filler(&mut dice, words), 90);
            world.write(&format!("{}filler{at}.{extension}", dice.pick(&["", "docs/", "more/stuff/"])), &text);
        }
        let mut asked = dice.pick(template.asks).to_owned();
        if dice.roll(6) == 0 {
            asked = asked.to_lowercase();
        }
        let has_capitals = asked.contains(|c: char| c.is_uppercase());
        let name = |fact: &Fact| if has_capitals { fact.entity.clone() } else { fact.entity.to_lowercase() };

        let goal = asked.replace("{e}", &name(&facts[0]));
        let answer = world.answer(&goal);
        let quotes = world.quotes(&answer);
        let holds = |quote: &String| quote.contains(&facts[0].number);
        if quotes.iter().any(holds) && !answer.contains("no evidence") {
            found += 1;
            first += usize::from(quotes.iter().position(holds).is_some_and(|at| at < 2));
        } else {
            println!("seed {seed}: not found: {goal}\n{answer}\n");
        }
        let wrong = |answer: &str, right: Option<&Fact>| {
            facts
                .iter()
                .any(|fact| right.is_none_or(|right| right.number != fact.number) && answer.contains(&fact.number))
        };
        if wrong(&answer, Some(&facts[0])) {
            mistaken += 1;
            println!("seed {seed}: also quotes another: {goal}\n{answer}\n");
        }

        let goal = asked.replace("{e}", &name(&absent));
        let answer = world.answer(&goal);
        world.quotes(&answer);
        if wrong(&answer, None) {
            mistaken += 1;
            println!("seed {seed}: another's fact is given: {goal}\n{answer}\n");
        }
        if answer.contains("I found no evidence") && answer.to_lowercase().contains(&absent.entity.to_lowercase()) {
            refused += 1;
        } else {
            println!("seed {seed}: does not say so: {goal}\n{answer}\n");
        }
    }
    println!(
        "of {FOLDERS} folders (seeds 0 to {}): {found} facts quoted, {first} of them first, {refused} absences named, {mistaken} mistaken",
        FOLDERS - 1
    );
    assert_eq!(mistaken, 0, "the fact of another was given");
    assert!(found * 100 >= FOLDERS * 95, "{found} of {FOLDERS} facts were quoted");
    assert!(refused * 100 >= FOLDERS * 98, "{refused} of {FOLDERS} absences were named");
}
