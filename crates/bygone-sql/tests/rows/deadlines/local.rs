//! Local times in a zone, around the hours that happen twice or not at all. A local time is taken to mean the latest
//! instant that it can mean; where an index is to serve, neighbours of such an hour may stay until it is over.

use bygone_core::ErrorKind;
use bygone_sql::{Deadline, Engine, RowPolicy};
use jiff::tz::{Offset, TimeZone};

use super::{Column, Fate, Goes, Stays};
use crate::world::{World, policy};

const IN_THE_SERVERS: [Column; 2] =
    [Column::new(Engine::Postgres, "timestamp"), Column::new(Engine::MySql, "DATETIME(6)")];
const EVERYWHERE: [Column; 3] = [IN_THE_SERVERS[0], IN_THE_SERVERS[1], Column::new(Engine::Sqlite, "TEXT")];

async fn judge(columns: &[Column], zone: &'static str, boundary: &'static str, rows: &[(&str, Fate)]) {
    for column in columns {
        Column { zone: Some(zone), boundary, ..*column }.judges(rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_day_is_exact() {
    let rows =
        [("'2026-11-15 12:59:59.999999'", Goes), ("'2026-11-15 13:00:00'", Stays), ("'2026-11-15 13:00:01'", Stays)];
    judge(&EVERYWHERE, "Europe/Stockholm", "2026-11-15T12:00:00Z", &rows).await;
    let rows = [("'2026-11-15 06:59:59.999999'", Goes), ("'2026-11-15 07:00:00'", Stays)];
    judge(&EVERYWHERE, "America/New_York", "2026-11-15T12:00:00Z", &rows).await;
    let rows = [("'2026-11-15 17:44:59.999999'", Goes), ("'2026-11-15 17:45:00'", Stays)];
    judge(&EVERYWHERE, "Asia/Kathmandu", "2026-11-15T12:00:00Z", &rows).await;
}

/// Clocks in Stockholm go back from 03:00 to 02:00 at 01:00 UTC.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_doubled_hour_goes_in_its_first_pass() {
    let boundary = "2026-10-25T00:30:00Z";
    let rows = [
        ("'2026-10-25 01:29:59.999999'", Goes),
        ("'2026-10-25 02:00:00'", Stays),
        ("'2026-10-25 02:15:00'", Stays),
        ("'2026-10-25 02:29:59.999999'", Stays),
        ("'2026-10-25 02:30:00'", Stays),
        ("'2026-10-25 03:00:00'", Stays),
    ];
    judge(&EVERYWHERE, "Europe/Stockholm", boundary, &rows).await;
    // The half hour before it is over, but an index cannot tell it from the half hour that is not.
    judge(&IN_THE_SERVERS, "Europe/Stockholm", boundary, &[("'2026-10-25 01:30:00'", Stays)]).await;
    judge(&EVERYWHERE[2..], "Europe/Stockholm", boundary, &[("'2026-10-25 01:30:00'", Goes)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doubled_hour_goes_in_its_second_pass() {
    let rows = [
        ("'2026-10-25 01:59:59'", Goes),
        ("'2026-10-25 02:29:59.999999'", Goes),
        ("'2026-10-25 02:30:00'", Stays),
        ("'2026-10-25 03:00:00'", Stays),
    ];
    judge(&EVERYWHERE, "Europe/Stockholm", "2026-10-25T01:30:00Z", &rows).await;
}

/// Clocks in Stockholm go forward from 02:00 to 03:00 at 01:00 UTC: 02:30 never is, and is read as 03:30.
#[tokio::test(flavor = "multi_thread")]
async fn the_skipped_hour_is_read_as_the_one_after_it() {
    let boundary = "2026-03-29T01:15:00Z";
    let rows = [
        ("'2026-03-29 01:59:59.999999'", Goes),
        ("'2026-03-29 02:14:59.999999'", Goes),
        ("'2026-03-29 02:15:00'", Stays),
        ("'2026-03-29 02:30:00'", Stays),
        ("'2026-03-29 03:15:00'", Stays),
    ];
    judge(&EVERYWHERE, "Europe/Stockholm", boundary, &rows).await;
    judge(&IN_THE_SERVERS, "Europe/Stockholm", boundary, &[("'2026-03-29 03:14:59'", Stays)]).await;
    judge(&EVERYWHERE[2..], "Europe/Stockholm", boundary, &[("'2026-03-29 03:14:59'", Goes)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_lasts_through_its_day_there() {
    let columns = [
        Column::new(Engine::Postgres, "date"),
        Column::new(Engine::MySql, "DATE"),
        Column::new(Engine::Sqlite, "TEXT"),
    ];
    let rows = [("'2026-11-13'", Goes), ("'2026-11-14'", Stays), ("'2026-11-15'", Stays)];
    // Midnight in Stockholm, to the microsecond.
    judge(&columns, "Europe/Stockholm", "2026-11-14T23:00:00Z", &rows).await;
    let rows = [("'2026-11-14'", Goes), ("'2026-11-15'", Stays)];
    judge(&columns, "Europe/Stockholm", "2026-11-14T23:00:00.000001Z", &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_does_not_touch_instants() {
    let rows = [("'2026-11-15 11:59:59.999999'", Goes), ("'2026-11-15 12:00:00'", Stays)];
    let columns = [Column::new(Engine::Postgres, "timestamptz"), Column::new(Engine::MySql, "TIMESTAMP(6)")];
    judge(&columns, "Europe/Stockholm", "2026-11-15T12:00:00Z", &rows).await;
}

/// SQLite reads a zone by its name; one without a name must not be taken for UTC.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_without_a_name_is_refused_where_it_needs_one() {
    let zone = Some(TimeZone::fixed(Offset::constant(-5)));
    let create = "CREATE TABLE items (name VARCHAR(9) PRIMARY KEY, deadline TIMESTAMP NULL); \
                  INSERT INTO items VALUES ('over', '2026-11-15 06:59:59'), ('alive', '2026-11-15 07:00:00')";
    for engine in [Engine::Postgres, Engine::Sqlite] {
        let world = World::with(engine, create).await;
        let policy = RowPolicy { zone: zone.clone(), ..policy("items", Deadline::column("deadline")) };
        if engine == Engine::Sqlite {
            let error = world.bind(&policy).await.err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Unfit, "{error:?}");
        } else {
            world.sweep(&policy).await;
            assert_eq!(world.client().await.texts("SELECT name FROM items").await, ["alive"]);
        }
    }
}
