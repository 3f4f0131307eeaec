//! SQLite has no type for time: text in the formats that its users have, side by side in one column.

use bygone_sql::Engine;

use super::{Column, Goes, Stays, Unreadable};

#[tokio::test(flavor = "multi_thread")]
async fn every_format_in_one_column() {
    let rows = [
        ("'2026-11-15 11:59:59'", Goes),
        ("'2026-11-15 12:00:00'", Stays),
        ("'2026-11-15 11:59'", Goes),
        ("'2026-11-15 12:00'", Stays),
        ("'2026-11-15 11:59:59.999'", Goes),
        ("'2026-11-15 12:00:00.000'", Stays),
        ("'2026-11-15 11:59:59.999999'", Goes),
        ("'2026-11-15 12:00:00.000001'", Stays),
        // Between two microseconds: the later one counts.
        ("'2026-11-15 11:59:59.999999001'", Stays),
        ("'2026-11-15T11:59:59'", Goes),
        ("'2026-11-15T12:00:00'", Stays),
        ("'2026-11-15T11:59:59Z'", Goes),
        ("'2026-11-15T12:00:00Z'", Stays),
        ("'2026-11-15T11:59:59.999999Z'", Goes),
        ("'2026-11-15T11:59:59.999z'", Goes),
        ("'2026-11-15T12:00:00.0000000Z'", Stays),
        ("'2026-11-15T14:00:00.000001+02:00'", Stays),
        ("'2026-11-15T13:59:59.999999+02:00'", Goes),
        ("'2026-11-15 11:59:59 UTC'", Goes),
        ("'2026-11-15 11:59:59 +0000 UTC'", Goes),
        ("'2026-11-15 13:59:59+02:00'", Goes),
        ("'2026-11-15 14:00:00+02:00'", Stays),
        ("'2026-11-15T06:29:59-0530'", Goes),
        ("'2026-11-15T06:30:00-0530'", Stays),
        ("'2026-11-16 01:59:59+14'", Goes),
        ("'2026-11-16 02:00:00+14'", Stays),
        ("'2026-11-14'", Goes),
        ("'2026-11-15'", Stays),
        ("'1969-07-20 20:17:40'", Goes),
        ("'9999-12-31 23:59:59'", Stays),
    ];
    Column::new(Engine::Sqlite, "TEXT").judges(&rows).await;
    Column::new(Engine::Sqlite, "DATETIME").judges(&rows).await;
    Column::new(Engine::Sqlite, "").judges(&rows).await;
    Column::new(Engine::Sqlite, "VARCHAR(30) COLLATE NOCASE").judges(&rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_time_stays() {
    let rows = [
        ("'2026-11-15 11:59:59'", Goes),
        ("NULL", Unreadable),
        ("''", Unreadable),
        ("'never'", Unreadable),
        ("'0000-00-00 00:00:00'", Unreadable),
        ("'2026-02-30 00:00:00'", Unreadable),
        ("'2026-11-15 25:00:00'", Unreadable),
        ("'2025-11-15 24:00:00'", Unreadable),
        ("'2025-11-15 12:60'", Unreadable),
        ("'2025-11-15 12:00:60'", Unreadable),
        ("'2025-11-15 12:00:00.'", Unreadable),
        ("'2025-11-15 12:00:00+99:00'", Unreadable),
        ("'2025-11-15 12:00:00+02:60'", Unreadable),
        ("'2025-11-15t12:00:00'", Unreadable),
        ("'2025-11-15' || char(0)", Unreadable),
        ("'now'", Unreadable),
        ("'2460000.5'", Unreadable),
        ("'15.11.2025'", Unreadable),
        ("' 2025-11-15'", Unreadable),
        ("'2025-11-15 12:00:00 CET'", Unreadable),
        ("x'00ff'", Unreadable),
        ("CAST('2025-11-15 12:00:00' AS BLOB)", Unreadable),
        ("CAST(x'323032352d31312d3135ff' AS TEXT)", Unreadable),
    ];
    // Numbers become text in a column of text, but not in the others.
    let numbers = [("20251115", Unreadable), ("1700000000", Unreadable), ("-1.5", Unreadable), ("0", Unreadable)];
    for sql_type in ["TEXT", "DATETIME", ""] {
        Column::new(Engine::Sqlite, sql_type).judges(&[&rows[..], &numbers].concat()).await;
    }
}
