//! Numbers of seconds, milliseconds or microseconds since 1970.

use bygone_sql::{Engine, Format};

use super::{Column, Fate, Goes, Stays, Unreadable};

/// 2026-11-15T12:00:00Z is 1,794,744,000 seconds after 1970.
const SECONDS: [(&str, Fate); 6] = [
    ("1794743999", Goes),
    ("1794744000", Stays),
    ("1794744001", Stays),
    ("0", Unreadable),
    ("-86400", Unreadable),
    ("NULL", Unreadable),
];

/// A boundary half a microsecond's worth away from whole seconds and milliseconds.
const UNEVEN: &str = "2026-11-15T12:00:00.000001Z";

async fn judge(columns: &[(Engine, &'static str)], format: Format, boundary: &'static str, rows: &[(&str, Fate)]) {
    for (engine, sql_type) in columns {
        Column { format, boundary, ..Column::new(*engine, sql_type) }.judges(rows).await;
    }
}

const WHOLE: [(Engine, &str); 5] = [
    (Engine::Postgres, "integer"),
    (Engine::Postgres, "bigint"),
    (Engine::MySql, "INT"),
    (Engine::MySql, "BIGINT"),
    (Engine::Sqlite, "INTEGER"),
];
const BROKEN: [(Engine, &str); 8] = [
    (Engine::Postgres, "numeric"),
    (Engine::Postgres, "numeric(20, 6)"),
    (Engine::Postgres, "double precision"),
    (Engine::MySql, "DECIMAL(20, 6)"),
    (Engine::MySql, "DOUBLE"),
    (Engine::Sqlite, "REAL"),
    (Engine::Sqlite, "NUMERIC"),
    (Engine::Sqlite, ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn seconds() {
    judge(&WHOLE, Format::EpochSeconds, "2026-11-15T12:00:00Z", &SECONDS).await;
    judge(&BROKEN, Format::EpochSeconds, "2026-11-15T12:00:00Z", &SECONDS).await;
    let unsigned: Vec<_> = SECONDS.into_iter().filter(|(value, _)| !value.starts_with('-')).collect();
    let columns = [(Engine::MySql, "INT UNSIGNED"), (Engine::MySql, "BIGINT UNSIGNED")];
    judge(&columns, Format::EpochSeconds, "2026-11-15T12:00:00Z", &unsigned).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_second_is_before_every_part_of_it() {
    let rows = [("1794743999", Goes), ("1794744000", Goes), ("1794744001", Stays)];
    judge(&WHOLE, Format::EpochSeconds, UNEVEN, &rows).await;
    judge(&BROKEN, Format::EpochSeconds, UNEVEN, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_second() {
    let rows = [
        ("1794743999.999999", Goes),
        ("1794744000.000001", Stays),
        ("1794744000.5", Stays),
        ("0.5", Unreadable),
        ("NULL", Unreadable),
    ];
    judge(&BROKEN, Format::EpochSeconds, "2026-11-15T12:00:00Z", &rows).await;
    let rows = [
        ("1794743999.999999", Goes),
        ("1794744000.000000", Goes),
        ("1794744000.000001", Stays),
        ("1794744000.000002", Stays),
    ];
    judge(&BROKEN, Format::EpochSeconds, UNEVEN, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn milliseconds_and_microseconds() {
    let large: Vec<_> = WHOLE.into_iter().filter(|(_, sql_type)| !["integer", "INT"].contains(sql_type)).collect();
    for columns in [&large[..], &BROKEN] {
        let rows = [("1794743999999", Goes), ("1794744000000", Stays), ("1794744000001", Stays), ("0", Unreadable)];
        judge(columns, Format::EpochMillis, "2026-11-15T12:00:00Z", &rows).await;
        let rows = [("1794744000000", Goes), ("1794744000001", Stays)];
        judge(columns, Format::EpochMillis, UNEVEN, &rows).await;
        let columns: Vec<_> = columns.iter().copied().filter(|(_, sql_type)| !sql_type.contains("20, 6")).collect();
        let rows =
            [("1794743999999999", Goes), ("1794744000000000", Stays), ("1794744000000001", Stays), ("0", Unreadable)];
        judge(&columns, Format::EpochMicros, "2026-11-15T12:00:00Z", &rows).await;
        let rows = [("1794744000000000", Goes), ("1794744000000001", Stays)];
        judge(&columns, Format::EpochMicros, UNEVEN, &rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_are_none() {
    let rows = [
        ("1794743999", Goes),
        ("'NaN'", Unreadable),
        ("'-Infinity'", Unreadable),
        ("'Infinity'", Stays),
        ("1794744001", Stays),
    ];
    for sql_type in ["numeric", "double precision"] {
        judge(&[(Engine::Postgres, sql_type)], Format::EpochSeconds, "2026-11-15T12:00:00Z", &rows).await;
    }
    let rows = [
        ("1794743999", Goes),
        ("1794744001", Stays),
        ("9e999", Stays),
        ("-9e999", Unreadable),
        ("'1794743999 '", Unreadable),
        ("'soon'", Unreadable),
        ("x'01'", Unreadable),
    ];
    judge(&[(Engine::Sqlite, "")], Format::EpochSeconds, "2026-11-15T12:00:00Z", &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_float_of_few_digits_is_never_early() {
    // The nearest numbers of 32 bits are 128 seconds apart; the boundary itself is one of them.
    let rows = [("1794743872", Goes), ("1794744000", Stays), ("1794744128", Stays)];
    judge(&[(Engine::Postgres, "real"), (Engine::MySql, "FLOAT")], Format::EpochSeconds, "2026-11-15T12:00:00Z", &rows)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_puts_everything_into_1970_is_refused() {
    for (engine, sql_type) in WHOLE.into_iter().chain(BROKEN) {
        for format in [Format::EpochMillis, Format::EpochMicros] {
            let column = Column { format, ..Column::new(engine, sql_type) };
            let error = column.refuses(&["1794743999", "1700000000", "NULL"]).await;
            assert!(error.full_message().contains("lies in 1970"), "{error:?}");
            assert!(error.help().unwrap().contains("larger unit"), "{error:?}");
        }
    }
    let column = Column { format: Format::EpochMicros, ..Column::new(Engine::Postgres, "bigint") };
    column.refuses(&["1794743999000"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_not_a_number_of_seconds() {
    for (engine, sql_type) in
        [(Engine::Postgres, "text"), (Engine::MySql, "VARCHAR(20)"), (Engine::Postgres, "boolean")]
    {
        let column = Column { format: Format::EpochSeconds, ..Column::new(engine, sql_type) };
        let error = column.refuses(&["'1'"]).await;
        assert!(error.help().unwrap().contains("deadline = \"deadline\""), "{error:?}");
    }
}
