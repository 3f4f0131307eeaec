//! Somebody changes the table while it is swept: the policy stops before it removes by a test that means something
//! else now, and the others go on.

use std::sync::Arc;

use bygone_core::{Budget, Care, Consent, Job, Outcome, PageRequest, Sweep, SystemClock, Target};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget};

use crate::world::{World, boundary, on_each_engine};

async fn tables(engine: Engine) -> World {
    let time = match engine {
        Engine::Postgres => "timestamptz",
        Engine::MySql => "DATETIME(6)",
        Engine::Sqlite => "TEXT",
    };
    let table = |name: &str| {
        let values: Vec<String> = (1..=50).map(|n| format!("({n}, '2026-11-01 00:00:{n:02}')")).collect();
        let values = values.join(", ");
        format!("CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, at {time}); INSERT INTO {name} VALUES {values}; ")
    };
    World::with(engine, &(table("items") + &table("others"))).await
}

fn policy(table: &str) -> RowPolicy {
    RowPolicy::new(table, table, Deadline::column("at"))
}

on_each_engine!(a_change_before_the_first_page_stops_the_policy_alone, a_change_between_pages_is_noticed);

async fn a_change_before_the_first_page_stops_the_policy_alone(engine: Engine) {
    let world = tables(engine).await;
    let source = world.source().await;
    let mut jobs = Vec::new();
    for table in ["items", "others"] {
        let target = RowTarget::bind(&source, &policy(table)).await.unwrap();
        jobs.push(Job::new(Box::new(target), Budget::default()).with_consent(Consent::Released));
    }
    // The name stays, and means another time now.
    let mut client = world.client().await;
    client.run("ALTER TABLE items RENAME COLUMN at TO was").await;
    client.run("ALTER TABLE items ADD COLUMN at VARCHAR(40) DEFAULT '2020-01-01 00:00:00'").await;
    let report = Sweep::new(Arc::new(SystemClock::new()), boundary()).run(jobs).await;
    let [items, others] = report.policies.as_slice() else { panic!("{report:?}") };
    assert_eq!((items.outcome, items.tally.removed), (Outcome::Failed, 0), "{items:?}");
    assert_eq!(items.error.as_deref(), Some("table `items` was changed while it was swept"));
    assert!(items.help.is_some(), "{items:?}");
    assert_eq!((others.outcome, others.tally.removed), (Outcome::Complete, 50), "{others:?}");
    assert_eq!(client.number("SELECT count(*) FROM items").await, 50);
}

async fn a_change_between_pages_is_noticed(engine: Engine) {
    let world = tables(engine).await;
    let mut target = world.bind(&policy("items")).await.unwrap();
    target.survey(boundary()).await.unwrap();
    let request = PageRequest { boundary: boundary(), cursor: None, limit: 1, care: Care::Careful };
    assert_eq!(target.page(request).await.unwrap().tally.removed, 1);
    target.tidy().await.unwrap();
    world.client().await.run("ALTER TABLE items ADD COLUMN more INT").await;
    let mut noticed = None;
    for _ in 0..16 {
        noticed = noticed.or(target.tidy().await.err());
    }
    let error = noticed.expect("the change is noticed within some pages");
    assert_eq!(error.to_string(), "table `items` was changed while it was swept");
}
