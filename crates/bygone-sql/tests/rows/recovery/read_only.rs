//! A source that is opened for reading cannot write, whatever is asked of it.

use bygone_core::{Budget, Care, ErrorKind, Outcome, PageRequest, Target};
use bygone_sql::{Deadline, Engine, RowTarget, SourceOptions};

use crate::world::{World, boundary, on_each_engine, open, policy, sweep};

on_each_engine!(a_read_only_source_surveys_and_refuses_to_remove);

async fn a_read_only_source_surveys_and_refuses_to_remove(engine: Engine) {
    let world = World::with(
        engine,
        "CREATE TABLE items (id INT PRIMARY KEY, deadline TIMESTAMP NULL); \
         INSERT INTO items VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')",
    )
    .await;
    let source = open(SourceOptions { read_only: true, ..world.options() }).await;
    let by_deadline = policy("items", Deadline::column("deadline"));
    let mut target = RowTarget::bind(&source, &by_deadline).await.unwrap();
    let survey = target.survey(boundary()).await.unwrap();
    assert_eq!(survey.bygone, Some(1));
    assert!(target.plan(boundary(), survey.bygone).is_some());
    for care in [Care::Swift, Care::Careful] {
        let request = PageRequest { boundary: boundary(), cursor: None, limit: 10, care };
        let error = target.page(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{engine}: {error:?}");
    }
    let report = sweep(target, Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Refused, 0), "{report:?}");
    assert_eq!(world.client().await.texts("SELECT id FROM items ORDER BY id").await, ["1", "2"]);
}
