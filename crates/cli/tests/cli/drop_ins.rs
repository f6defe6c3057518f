//! A new agent, a new tool and a whole project's configuration, each by putting files in place, used by the next run.

use serde_json::json;

use crate::world::World;

#[test]
fn an_agent_and_a_tool_are_one_file_each_and_the_next_run_uses_them() {
    let world = World::new();
    let plan =
        json!({"steps": [{"id": "tide", "agent": "sailor", "prompt": "When is high tide?", "writes": ["tide"]}]});
    let model = world.script("plan.json", &json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": plan}},
        {"when": {"agent": "sailor", "turn": 0}, "answer": {"calls": [{"name": "high_tide", "args": {"port": "Kiel"}}]}},
        {"when": {"agent": "sailor", "has_result": "high_tide", "contains": "Kiel: 14:20"}, "answer": {"text": "14:20"}},
    ]}));
    world.config("agents/sailor.md", "---\npurpose: Knows the tides.\ntools: [tools]\n---\nYou are the sailor.\n");
    let tool =
        "def high_tide(port: str) -> str:\n    \"\"\"Says when the water is high.\"\"\"\n    return f'{port}: 14:20'\n";
    world.config("tools/tides.py", tool);
    let run = ["run", "--yes", "--model", &model, "When is high tide in Kiel?"];
    assert_eq!(world.updraft(&run).code(0).out, "14:20\n");
    assert!(world.updraft(&["show", "last", "--prompts"]).out.contains("`sailor`: Knows the tides."));
}

/// The files are those that docs/agents.md, tools.md, context.md and guardrails.md show, put where they say.
#[test]
fn an_agent_a_tool_a_skill_a_guardrail_and_a_document_are_one_file_each_and_one_run_uses_all() {
    let world = World::new();
    if !crate::python::is_to_be_had(&world) {
        return;
    }
    world.config(
        "agents/translator.md",
        "---\nname: translator\npurpose: Translates text and keeps its form.\ntools: [tools]\n---\nYou are the translator.\n",
    );
    world.config(
        "tools/words.py",
        "def count_words(text: str) -> int:\n    \"\"\"Counts the words of a text.\n\n    Annotations: read-only\n    \"\"\"\n    return len(text.split())\n",
    );
    world.config(
        "skills/release-notes/SKILL.md",
        "---\nname: release-notes\ndescription: Writes release notes.\n---\n\n1. Begin with the word Ahoy.\n",
    );
    world.config("guardrails/short.md", "---\nwhen: output\naction: correct\ncheck: length\nmost: 20\n---\n");
    world.file(".context/style.md", "Say `harbour`, never `port`.\n");
    world.updraft(&["trust", "--yes"]).code(0);
    let plan = json!({"steps": [{"id": "notes", "agent": "translator", "prompt": "Write them.", "writes": ["notes"]}]});
    let calls = json!([{"name": "use_skill", "args": {"name": "release-notes"}},
                       {"name": "count_words", "args": {"text": "three little words"}}]);
    let model = world.script("s.json", &json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": plan}},
        {"when": {"agent": "translator", "turn": 0, "contains": "Say `harbour`, never `port`."}, "answer": {"calls": calls}},
        {"when": {"agent": "translator", "turn": 1, "contains": "Begin with the word Ahoy"},
         "answer": {"text": "Ahoy, this is far too long for a note"}},
        {"when": {"agent": "translator", "turn": 2, "contains": "at most 20 are allowed"}, "answer": {"text": "Ahoy, harbour"}},
    ]}));
    assert_eq!(world.updraft(&["run", "--model", &model, "Write the release notes"]).code(0).out, "Ahoy, harbour\n");
    let told = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    for words in ["`translator`: Translates text", "You are the translator.", "[result of count_words]\n3"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let context = world.updraft(&["show", "last", "--context"]).code(0).out;
    assert!(context.contains(".context/style.md") && context.contains("release-notes"), "{context}");
}

#[test]
fn a_skill_with_fields_of_other_programs_is_used_and_its_check_names_them() {
    let world = World::new();
    world.config(
        "skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys.\nversion: 2\nallowed-tools: [Read, Bash]\n---\nRun deploy.sh.\n",
    );
    let listed = world.updraft(&["skills", "--json"]).code(0).json();
    assert_eq!((&listed[0]["name"], &listed[0]["faults"]), (&json!("deploy"), &json!([])));
    assert_eq!(listed[0]["remarks"].as_array().unwrap().len(), 2, "{listed:?}");
    assert!(world.updraft(&["skills"]).code(0).out.contains("ignored: `version` is not a field of a skill"));
    let folder = world.home().join("skills/deploy");
    let checked = world.updraft(&["skills", folder.to_str().unwrap()]).code(1).out;
    assert!(
        checked.contains("`version` is not a field of a skill") && checked.contains("`allowed-tools`"),
        "{checked}"
    );
    world.config("agents/ops.md", "---\npurpose: Operates.\ntools: [tools]\n---\nOperate.\n");
    let model = world
        .script("s.json", &json!([{"calls": [{"name": "use_skill", "args": {"name": "deploy"}}]}, {"text": "ok"}]));
    world.updraft(&["run", "--model", &model, "--agent", "ops", "deploy"]).code(0);
    assert!(world.updraft(&["show", "last", "--prompts"]).out.contains("Run deploy.sh."));
}

#[test]
fn a_projects_agents_models_and_servers_are_taken_over() {
    let world = World::new();
    world.file("s16/config/agent_config.yaml", "agents:\n  CriticAgent:\n    prompt_file: \"16_NetworkX/prompts/critic.md\"\n    model: \"gemini\"\n    mcp_servers: [\"rag\"]\n    description: \"Judges: films # and books\"\n  PoetAgent:\n    prompt_file: \"prompts/critic.md\"\n    description: \"Writes verse\"\n  LostAgent:\n    prompt_file: \"../../secret.md\"\n    description: \"Is lost\"\n");
    world.file("s16/prompts/critic.md", "You are the critic.\n");
    world.file("secret.md", "secret\n");
    let models = json!({"models": {"gemini": {"type": "gemini", "model": "gemini-2.0-flash"},
                                   "phi4": {"type": "ollama", "model": "phi4"}, "odd": {"type": "carrier pigeon"}}});
    world.file("s16/config/models.json", &models.to_string());
    world.file("s16/config/profiles.yaml", "llm:\n  text_generation: phi4\n");
    let servers = "mcp_servers:\n  - id: rag\n    script: server_rag.py\n  - id: math\n    script: server_math.py\n";
    world.file("s16/config/mcp_server_config.yaml", servers);
    let imported = world.updraft(&["import", "s16"]).code(0);
    for said in
        ["imported critic, poet into", "`lost` was left out: its prompt", "`odd` was left out", "imported math into"]
    {
        assert!(imported.err.contains(said), "{said}: {}", imported.err);
    }
    let agent = std::fs::read_to_string(world.home().join("agents/critic.md")).unwrap();
    assert_eq!(
        agent,
        "---\nname: critic\npurpose: \"Judges: films # and books\"\ntools: [\"rag\"]\nmodel: \"gemini\"\n---\nYou are the critic.\n"
    );
    let config = std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    assert!(
        config.starts_with("model = \"phi4\"\n") && config.contains("model = \"gemini/gemini-2.0-flash\""),
        "{config}"
    );
    assert!(!world.home().join("agents/lost.md").exists());

    let model = world.script("critic.json", &json!([{"text": "splendid"}]));
    let run = ["run", "--model", &model, "--agent", "poet", "How is the film?"];
    assert_eq!(world.updraft(&run).code(0).out, "splendid\n");
    // A second time, what is there stays.
    assert!(world.updraft(&["import", "s16"]).code(0).err.contains("`critic` was left out"));
}
