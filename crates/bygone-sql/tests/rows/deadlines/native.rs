//! Columns of time in UTC.

use bygone_sql::{Engine, Format};
use jiff::SignedDuration;

use super::{Column, Goes, Stays, Unreadable};

#[tokio::test(flavor = "multi_thread")]
async fn postgres_timestamptz() {
    let rows = [
        ("'2026-11-15 11:59:59.999999+00'", Goes),
        ("'2026-11-15 12:00:00+00'", Stays),
        ("'2026-11-15 12:00:00.000001+00'", Stays),
        ("'2026-11-15 13:59:59.999999+02'", Goes),
        ("'2026-11-15 14:00:00+02'", Stays),
        ("'1950-01-01 00:00:00+00'", Goes),
        ("'0001-01-01 00:00:00+00'", Goes),
        ("'0044-03-15 00:00:00+00 BC'", Unreadable),
        ("'-infinity'", Unreadable),
        ("'infinity'", Stays),
        ("NULL", Unreadable),
    ];
    Column::new(Engine::Postgres, "timestamptz").judges(&rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_timestamp_is_in_utc_unless_told_otherwise() {
    let rows = [
        ("'2026-11-15 11:59:59.999999'", Goes),
        ("'2026-11-15 12:00:00'", Stays),
        ("'2026-11-15 12:00:00.000001'", Stays),
        ("'-infinity'", Unreadable),
        ("'infinity'", Stays),
        ("NULL", Unreadable),
    ];
    Column::new(Engine::Postgres, "timestamp").judges(&rows).await;
    Column::new(Engine::Postgres, "timestamp(6)").judges(&rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coarse_column_is_compared_with_a_fine_boundary() {
    let rows = [("'2026-11-15 11:59:59'", Goes), ("'2026-11-15 12:00:00'", Goes), ("'2026-11-15 12:00:01'", Stays)];
    let boundary = "2026-11-15T12:00:00.000001Z";
    for column in [
        Column::new(Engine::Postgres, "timestamptz(0)"),
        Column::new(Engine::Postgres, "timestamp(0)"),
        Column::new(Engine::MySql, "DATETIME"),
        Column::new(Engine::MySql, "TIMESTAMP"),
        Column::new(Engine::Sqlite, "TEXT"),
    ] {
        Column { boundary, ..column }.judges(&rows).await;
        let on_it = [rows[0], ("'2026-11-15 12:00:00'", Stays), rows[2]];
        Column { boundary: "2026-11-15T12:00:00Z", ..column }.judges(&on_it).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_datetime_and_timestamp() {
    let rows = [
        ("'2026-11-15 11:59:59.999999'", Goes),
        ("'2026-11-15 12:00:00'", Stays),
        ("'2026-11-15 12:00:00.000001'", Stays),
        ("'1971-01-01 00:00:00'", Goes),
        ("'0000-00-00 00:00:00'", Unreadable),
        ("NULL", Unreadable),
    ];
    Column::new(Engine::MySql, "TIMESTAMP(6)").judges(&rows).await;
    let more = [
        ("'1000-01-01 00:00:00'", Goes),
        ("'2020-00-01 00:00:00'", Unreadable),
        ("'2020-01-00 00:00:00'", Unreadable),
        ("'9999-12-31 23:59:59.999999'", Stays),
    ];
    Column::new(Engine::MySql, "DATETIME(6)").judges(&[&rows[..], &more].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_lasts_through_its_day() {
    let midday = [("'2026-11-14'", Goes), ("'2026-11-15'", Stays), ("'2026-11-16'", Stays), ("NULL", Unreadable)];
    let on_midnight = [("'2026-11-13'", Goes), ("'2026-11-14'", Stays), ("'2026-11-15'", Stays)];
    for (engine, sql_type) in [(Engine::Postgres, "date"), (Engine::MySql, "DATE"), (Engine::Sqlite, "TEXT")] {
        let column = Column::new(engine, sql_type);
        column.judges(&midday).await;
        Column { boundary: "2026-11-15T00:00:00Z", ..column }.judges(&on_midnight).await;
        let behind = [on_midnight[0], ("'2026-11-14'", Goes), on_midnight[2]];
        Column { boundary: "2026-11-15T00:00:00.000001Z", ..column }.judges(&behind).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_that_are_none() {
    let rows = [("'2026-11-14'", Goes), ("'-infinity'", Unreadable), ("'infinity'", Stays)];
    Column::new(Engine::Postgres, "date").judges(&rows).await;
    let rows = [
        ("'2026-11-14'", Goes),
        ("'0000-00-00'", Unreadable),
        ("'2026-00-14'", Unreadable),
        ("'2026-11-00'", Unreadable),
    ];
    Column::new(Engine::MySql, "DATE").judges(&rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keep_moves_the_boundary_back() {
    let keep = SignedDuration::from_hours(30 * 24);
    let rows = [
        ("'2026-10-16 11:59:59.999999'", Goes),
        ("'2026-10-16 12:00:00'", Stays),
        ("'2026-10-16 12:00:00.000001'", Stays),
        ("'2026-11-15 11:59:59.999999'", Stays),
    ];
    for column in [
        Column::new(Engine::Postgres, "timestamptz"),
        Column::new(Engine::Postgres, "timestamp"),
        Column::new(Engine::MySql, "DATETIME(6)"),
        Column::new(Engine::MySql, "TIMESTAMP(6)"),
        Column::new(Engine::Sqlite, "TEXT"),
    ] {
        Column { keep, ..column }.judges(&rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keep_that_reaches_before_all_time_removes_nothing() {
    let rows = [("'0001-01-01 00:00:00'", Stays), ("'2020-01-01 00:00:00'", Stays)];
    let keep = SignedDuration::from_hours(24 * 366 * 2026);
    for (engine, sql_type) in [(Engine::Postgres, "timestamp"), (Engine::MySql, "DATETIME"), (Engine::Sqlite, "TEXT")] {
        Column { keep, ..Column::new(engine, sql_type) }.judges(&rows).await;
        Column { keep: SignedDuration::MAX, ..Column::new(engine, sql_type) }.judges(&rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_time_by_itself_is_refused() {
    for (engine, sql_type, value) in [
        (Engine::Postgres, "text", "'2026-11-15 11:00:00'"),
        (Engine::Postgres, "varchar(30)", "'2026-11-15 11:00:00'"),
        (Engine::Postgres, "bigint", "1794740000"),
        (Engine::Postgres, "time", "'11:00'"),
        (Engine::Postgres, "jsonb", "'{}'"),
        (Engine::MySql, "VARCHAR(30)", "'2026-11-15 11:00:00'"),
        (Engine::MySql, "TEXT", "'2026-11-15 11:00:00'"),
        (Engine::MySql, "INT", "1794740000"),
        (Engine::MySql, "TIME", "'11:00'"),
        (Engine::MySql, "YEAR", "2020"),
        (Engine::Sqlite, "INTEGER", "1794740000"),
        (Engine::Sqlite, "DATETIME", "1794740000"),
        (Engine::Sqlite, "TEXT", "x'00'"),
    ] {
        let error = Column::new(engine, sql_type).refuses(&[value]).await;
        assert!(error.help().unwrap().contains("epoch_s = \"deadline\""), "{error:?}");
    }
    // A column of numbers is known by its type while it is still empty.
    for (engine, sql_type) in [(Engine::Postgres, "int"), (Engine::MySql, "BIGINT"), (Engine::Sqlite, "INTEGER")] {
        Column::new(engine, sql_type).refuses(&[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_time_is_not_a_number_nor_an_identifier() {
    for (engine, sql_type) in [(Engine::Postgres, "timestamptz"), (Engine::MySql, "DATETIME")] {
        for format in [Format::EpochSeconds, Format::Ulid, Format::Uuid7] {
            Column { format, ..Column::new(engine, sql_type) }.refuses(&["'2026-11-15 11:00:00'"]).await;
        }
    }
}
