//! `bygone guard --row-security`: PostgreSQL hides rows in the table itself.

use crate::support::{Client, Engine, World, everyone, living};

/// Which tokens a role sees.
async fn seen_by(url: &str) -> Vec<u32> {
    let texts = Client::connect(url).await.texts("SELECT id FROM tokens ORDER BY id").await;
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const STATE: &str = "SELECT relrowsecurity::text || ' ' || (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid) \
                     FROM pg_class c WHERE relname = 'tokens'";

#[tokio::test]
async fn a_reader_sees_the_living_and_the_owner_everyone() {
    let world = World::with_tokens(Engine::Postgres).await;
    let reader = world.database.reader_url().await;
    for _ in 0..2 {
        world.refuses(0, &["guard", "--row-security", "--apply"]).await.says(&["BYPASSRLS", "the role that sweeps"]);
        assert_eq!(seen_by(&reader).await, living());
        assert_eq!(seen_by(&world.database.url()).await, everyone());
    }
    let printed = world.run(&["guard", "--row-security"]).ends(0).stdout;
    assert!(printed.contains("CREATE POLICY \"bygone_tokens\" ON \"public\".\"tokens\" AS RESTRICTIVE FOR SELECT"));
    world.run_sql(&printed).await;
    for _ in 0..2 {
        world.refuses(0, &["guard", "--row-security", "--apply", "--drop"]).await;
        assert_eq!(seen_by(&reader).await, everyone());
        assert_eq!(world.client().await.texts(STATE).await, ["false 0"], "as it was before");
    }
}

/// What readers could do before, they can do still; and the sweep of the owner finds what they do not see.
#[tokio::test]
async fn nothing_else_changes() {
    let world = World::with_tokens(Engine::Postgres).await;
    let user = world.database.reader_url().await;
    world.run_sql("GRANT INSERT, UPDATE, DELETE ON tokens TO PUBLIC").await;
    world.run(&["guard", "--row-security", "--apply"]).ends(0);
    let mut client = Client::connect(&user).await;
    client
        .run("INSERT INTO tokens VALUES (101, '2200-01-01'); UPDATE tokens SET expires_at = NULL WHERE id = 61")
        .await;
    client.run("DELETE FROM tokens WHERE id = 62").await;
    world.run(&["sweep"]).ends(0);
    let left: Vec<u32> = living().into_iter().filter(|id| *id != 62).chain([101]).collect();
    assert_eq!((world.survivors().await, seen_by(&user).await), (left.clone(), left));
}

/// Where others already use row-level security, nobody comes to see more than before.
#[tokio::test]
async fn policies_of_others_stay() {
    let world = World::with_tokens(Engine::Postgres).await;
    let reader = world.database.reader_url().await;
    world.run_sql("CREATE POLICY theirs ON tokens USING (id % 2 = 0)").await;
    world
        .refuses(65, &["guard", "--row-security", "--apply"])
        .await
        .says(&["has policies of row-level security that are not enabled"]);
    world.run_sql("ALTER TABLE tokens ENABLE ROW LEVEL SECURITY").await;
    world.run(&["guard", "--row-security", "--apply"]).ends(0);
    assert_eq!(seen_by(&reader).await, living().into_iter().filter(|id| id % 2 == 0).collect::<Vec<_>>());
    world.run(&["guard", "--row-security", "--apply", "--drop"]).ends(0);
    assert_eq!(world.client().await.texts(STATE).await, ["true 1"]);
    assert_eq!(seen_by(&reader).await, everyone().into_iter().filter(|id| id % 2 == 0).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_policy_that_looks_at_other_rows_is_refused() {
    let world = World::with_tokens(Engine::Postgres).await;
    for lines in ["newest = 3", "where = \"id IN (SELECT id FROM tokens)\"", "unless_referenced_by = [\"tokens.id\"]"] {
        world.add_lines(lines);
        world
            .refuses(65, &["guard", "--row-security", "--apply"])
            .await
            .says(&["row-level security cannot look at other rows", "use the view"]);
        assert_eq!(world.client().await.texts(STATE).await, ["false 0"]);
        world.refuses(0, &["guard", "--apply"]).await;
    }
}

/// A role that is not shown what is bygone would sweep nothing, and say that there was nothing: `check` tells.
#[tokio::test]
async fn check_names_a_sweeper_that_is_not_shown_the_rows() {
    let world = World::with_tokens(Engine::Postgres).await;
    let url = world.database.reader_url().await;
    world.run_sql("GRANT UPDATE, DELETE ON tokens TO PUBLIC").await;
    world.run(&["guard", "--row-security", "--apply"]).ends(0);
    let run = crate::support::Run::of(world.bygone(&["check"]).env("DATABASE_URL", url)).ends(0);
    assert!(run.stdout.contains("warning[rows::row_security]"), "{run:#?}");
    assert!(!world.run(&["check"]).ends(0).stdout.contains("row_security"));
}
