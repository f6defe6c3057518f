//! People who share a server: what each role may do, and that a removed user is out.

use serde_json::json;
use updraft_serve::UserRole;

use crate::routes::{self, Route};
use crate::world::World;

const QUESTION: &str = "Which colour?";

fn asks() -> serde_json::Value {
    let question = json!({ "name": "ask_user", "args": { "question": QUESTION, "options": ["red", "blue"] } });
    json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [question] } }], "default": { "text": "Painted." } })
}

#[tokio::test]
async fn a_user_signs_in_with_a_token_and_leaves() {
    let mut world = World::new(&asks()).await;
    let form = world.send("GET", "/enter", "", "").await;
    assert!(form.status == 200 && form.body.contains("name=\"token\""), "{}", form.body);
    for wrong in ["", "x", world.token.reveal()] {
        let refused = world.sign_in(wrong).await;
        assert!(refused.status == 401 && refused.header("set-cookie").is_none(), "{wrong}: {}", refused.status);
    }
    let cookie = world.user("ann", UserRole::See).await;
    let owner = world.seen_with(&cookie);
    let page = world.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<html data-role=\"see\"") && page.body.contains(">ann<"), "{}", page.body);
    assert!(world.get("/enter").await.body.contains("with the role"));
    let left = world.post("/leave", &[]).await;
    assert_eq!(left.status, 200, "{}", left.body);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    world.seen_with(&owner);
    assert!(!world.get("/").await.body.contains("data-role"), "the owner of the server has no name");
    world.close().await;
}

#[tokio::test]
async fn each_role_may_do_what_it_says_and_no_more() {
    let mut world = World::new(&asks()).await;
    let cookies = [
        (UserRole::See, world.user("sue", UserRole::See).await),
        (UserRole::Steer, world.user("tom", UserRole::Steer).await),
        (UserRole::Administer, world.user("ada", UserRole::Administer).await),
    ];
    for Route { path, is_post } in routes::all() {
        // Whoever may do it is told that there is no such run, or that the form is empty.
        let place = path.replace("{id}", "none").replace("{name}", "none");
        let needed = match (path.as_str(), is_post) {
            ("/enter" | "/leave", _) => continue,
            ("/settings" | "/doctor" | "/users", _) | ("/tools/{name}", true) => UserRole::Administer,
            (_, true) => UserRole::Steer,
            (_, false) => UserRole::See,
        };
        for (role, cookie) in &cookies {
            world.seen_with(cookie);
            let answer = if is_post { world.post(&place, &[]).await } else { world.get(&place).await };
            assert_eq!(answer.status == 403, *role < needed, "{path} as {role:?}: {}", answer.status);
            assert!(answer.status != 403 || answer.body.contains("Not with your role"), "{path}: {}", answer.body);
        }
    }
    for (role, cookie) in &cookies {
        world.seen_with(cookie);
        let raised = world.post("/runs/none/resume", &[("limit", "1000000")]).await;
        assert_eq!(raised.status == 403, *role < UserRole::Administer, "a higher limit as {role:?}: {}", raised.status);
        let forgotten = world.post("/memory", &[("act", "forget"), ("id", "77")]).await;
        assert_eq!(forgotten.status == 403, *role < UserRole::Administer, "{role:?}: {}", forgotten.status);
    }
    world.close().await;
}

#[tokio::test]
async fn who_administers_adds_and_removes_users_on_the_page() {
    let mut world = World::new(&asks()).await;
    let ada = world.user("ada", UserRole::Administer).await;
    world.seen_with(&ada);
    let added = world.post("/users", &[("act", "add"), ("name", "ben"), ("role", "see")]).await;
    let token = added.body.split_once("again: <code>").unwrap().1.split_once('<').unwrap().0.to_owned();
    assert_eq!(world.users.list().unwrap().len(), 2);
    assert!(!world.get("/users").await.body.contains(&token), "it is shown once");
    let ben = world.sign_in(&token).await.cookie();
    for wrong in [[("act", "add"), ("name", "ben"), ("role", "see")], [("act", "add"), ("name", "x"), ("role", "all")]]
    {
        assert_eq!(world.post("/users", &wrong).await.status, 400);
    }
    assert_eq!(world.post("/users", &[("act", "remove"), ("name", "ben")]).await.status, 303);
    world.seen_with(&ben);
    assert_eq!(world.get("/").await.status, 401);
    world.close().await;
}

#[tokio::test]
async fn the_journal_says_who_decided_and_a_removed_user_sees_no_more() {
    let mut world = World::new(&asks()).await;
    let run = world.start(&[("goal", "Paint it"), ("mode", "agent:clarification")], None).await.run();
    world.until(&run, "/answer").await;
    let cookie = world.user("tom", UserRole::Steer).await;
    let owner = world.seen_with(&cookie);
    let mut stream = world.watch(&format!("/runs/{run}/stream?after=1"), "Connection: close\r\n").await;
    stream.patch().await;
    assert_eq!(world.post(&format!("/runs/{run}/cancel"), &[]).await.run(), run);
    let events = world.get(&format!("/runs/{run}?view=events")).await.body;
    assert!(events.contains("tom"), "{events}");
    world.users.remove("tom").unwrap();
    assert_eq!(world.get("/").await.status, 401);
    assert!(stream.ends().await, "an open page is told nothing more");
    world.seen_with(&owner);
    assert_eq!(world.get("/").await.status, 200);
    world.close().await;
}
