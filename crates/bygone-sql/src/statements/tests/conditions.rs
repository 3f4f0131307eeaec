//! The whole test of a policy, for every kind of deadline: what stands behind WHERE in every statement that removes.

use insta::assert_snapshot;

use super::*;
use crate::comparison::IdShape;

/// The test of a deadline, and the test of one that cannot be read.
fn tests_of(engine: Engine, kind: Kind, sql_type: &str) -> String {
    let binding = Binding { deadline: vec![deadline(engine, kind, sql_type)], ..binding(engine) };
    let due = binding.due(binding.query(""), cutoff() + SignedDuration::from_micros(1));
    let unreadable = shown(&binding.unreadable());
    format!("{}\nunreadable: {}", shown(&due), unreadable.split_once(" WHERE ").unwrap().1)
}

fn stockholm() -> TimeZone {
    TimeZone::get("Europe/Stockholm").unwrap()
}

fn id(uuid7: bool, shape: IdShape) -> Kind {
    Kind::Id { uuid7, shape }
}

#[test]
fn postgres() {
    let tests_of = |kind, sql_type| tests_of(Engine::Postgres, kind, sql_type);
    assert_snapshot!(tests_of(Kind::Instant, "timestamp with time zone"), @r#"
    "expires_at" >= $1 AND "expires_at" < $2
    -- -62135596800000000 us, 1794744000000001 us
    unreadable: ("expires_at" < $1 OR "expires_at" IS NULL)
    -- -62135596800000000 us
    "#);
    assert_snapshot!(tests_of(Kind::Local(stockholm()), "timestamp without time zone"), @r#"
    "expires_at" >= $1 AND "expires_at" < $2
    -- -62135596800000000 us, 1794747600000001 us
    unreadable: ("expires_at" < $1 OR "expires_at" IS NULL)
    -- -62135596800000000 us
    "#);
    assert_snapshot!(tests_of(Kind::Date(stockholm()), "date"), @r#"
    "expires_at" >= $1::date AND "expires_at" < $2::date
    -- '0001-01-01', '2026-11-15'
    unreadable: ("expires_at" < $1::date OR "expires_at" IS NULL)
    -- '0001-01-01'
    "#);
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1_000_000, whole: true }, "int8"), @r#"
    "expires_at" >= $1::int8 AND "expires_at" < $2::int8
    -- 1, 1794744001
    unreadable: ("expires_at" < $1::int8 OR "expires_at" IS NULL)
    -- 1
    "#);
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1_000, whole: false }, "numeric"), @r#"
    "expires_at" >= $1::numeric AND "expires_at" < $2::numeric
    -- '1', '1794744000000.001'
    unreadable: ("expires_at" < $1::numeric OR "expires_at" = 'NaN' OR "expires_at" IS NULL)
    -- '1'
    "#);
    assert_snapshot!(tests_of(id(true, IdShape::Uuid), "uuid"), @r#"
    "expires_at" >= $1::uuid AND "expires_at" < $2::uuid AND substr("expires_at"::text, 15, 1) = '7'
    -- '00000000-0001-0000-0000-000000000000', '01a1df14-1e01-0000-0000-000000000000'
    unreadable: ("expires_at" < $1::uuid OR ("expires_at" IS NOT NULL AND NOT (substr("expires_at"::text, 15, 1) = '7')) OR "expires_at" IS NULL)
    -- '00000000-0001-0000-0000-000000000000'
    "#);
    assert_snapshot!(tests_of(id(true, IdShape::Bytes), "bytea"), @r#"
    "expires_at" >= $1::bytea AND "expires_at" < $2::bytea AND CASE WHEN length("expires_at") = 16 THEN get_byte("expires_at", 6) >> 4 = 7 ELSE false END
    -- 16 bytes, 16 bytes
    unreadable: ("expires_at" < $1::bytea OR ("expires_at" IS NOT NULL AND NOT (CASE WHEN length("expires_at") = 16 THEN get_byte("expires_at", 6) >> 4 = 7 ELSE false END)) OR "expires_at" IS NULL)
    -- 16 bytes
    "#);
    assert_snapshot!(tests_of(id(false, IdShape::Text { upper: true }), "text"), @r#"
    "expires_at" >= $1::text AND "expires_at" < $2::text AND "expires_at"::text COLLATE "C" < $3::text AND "expires_at"::text COLLATE "C" ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'
    -- '00000000010000000000000000', '01M7FH87G10000000000000000', '01M7FH87G10000000000000000'
    unreadable: ("expires_at" < $1::text OR ("expires_at" IS NOT NULL AND NOT ("expires_at"::text COLLATE "C" ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$')) OR "expires_at" IS NULL)
    -- '00000000010000000000000000'
    "#);
}

#[test]
fn mysql() {
    let tests_of = |kind| tests_of(Engine::MySql, kind, "");
    assert_snapshot!(tests_of(Kind::Instant), @"
    `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- '0001-01-01 00:00:00', '2026-11-15 12:00:00.000001'
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0)) OR `expires_at` IS NULL)
    -- '0001-01-01 00:00:00'
    ");
    assert_snapshot!(tests_of(Kind::Local(stockholm())), @"
    `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- '0001-01-01 00:00:00', '2026-11-15 13:00:00.000001'
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0)) OR `expires_at` IS NULL)
    -- '0001-01-01 00:00:00'
    ");
    assert_snapshot!(tests_of(Kind::Date(stockholm())), @"
    `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- '0001-01-01', '2026-11-15'
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0)) OR `expires_at` IS NULL)
    -- '0001-01-01'
    ");
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1_000_000, whole: true }), @"
    `expires_at` >= ? AND `expires_at` < ?
    -- 1, 1794744001
    unreadable: (`expires_at` < ? OR `expires_at` IS NULL)
    -- 1
    ");
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1_000, whole: false }), @"
    `expires_at` >= ? AND `expires_at` < ?
    -- 1, 1794744000000.001
    unreadable: (`expires_at` < ? OR `expires_at` IS NULL)
    -- 1
    ");
    assert_snapshot!(tests_of(id(true, IdShape::Uuid)), @"
    `expires_at` >= ? AND `expires_at` < ? AND SUBSTR(CAST(`expires_at` AS CHAR), 15, 1) = '7'
    -- '00000000-0001-0000-0000-000000000000', '01a1df14-1e01-0000-0000-000000000000'
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (SUBSTR(CAST(`expires_at` AS CHAR), 15, 1) = '7')) OR `expires_at` IS NULL)
    -- '00000000-0001-0000-0000-000000000000'
    ");
    assert_snapshot!(tests_of(id(true, IdShape::Bytes)), @"
    `expires_at` >= ? AND `expires_at` < ? AND LENGTH(`expires_at`) = 16 AND ASCII(SUBSTR(`expires_at`, 7, 1)) >> 4 = 7
    -- 16 bytes, 16 bytes
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (LENGTH(`expires_at`) = 16 AND ASCII(SUBSTR(`expires_at`, 7, 1)) >> 4 = 7)) OR `expires_at` IS NULL)
    -- 16 bytes
    ");
    assert_snapshot!(tests_of(id(false, IdShape::Text { upper: true })), @"
    `expires_at` >= ? AND `expires_at` < ? AND CONVERT(`expires_at` USING utf8mb4) COLLATE utf8mb4_bin < ? AND CONVERT(`expires_at` USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'
    -- '00000000010000000000000000', '01M7FH87G10000000000000000', '01M7FH87G10000000000000000'
    unreadable: (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (CONVERT(`expires_at` USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-7][0-9A-HJKMNP-TV-Z]{25}$')) OR `expires_at` IS NULL)
    -- '00000000010000000000000000'
    ");
}

#[test]
fn sqlite() {
    let tests_of = |kind| tests_of(Engine::Sqlite, kind, "");
    assert_snapshot!(tests_of(Kind::Text(stockholm())), @r#"
    "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'Europe/Stockholm') < ?
    -- '0', '2026-11-17', 1794744000000001
    unreadable: ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (bygone_text_us("expires_at", 'Europe/Stockholm') IS NOT NULL)) OR "expires_at" IS NULL)
    -- '0'
    "#);
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1_000_000, whole: false }), @r#"
    "expires_at" >= ? AND "expires_at" < ? AND typeof("expires_at") IN ('integer', 'real')
    -- 1, 1794744000.000001
    unreadable: ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (typeof("expires_at") IN ('integer', 'real'))) OR "expires_at" IS NULL)
    -- 1
    "#);
    assert_snapshot!(tests_of(Kind::Epoch { unit_us: 1, whole: false }), @r#"
    "expires_at" >= ? AND "expires_at" < ? AND typeof("expires_at") IN ('integer', 'real')
    -- 1, 1794744000000001
    unreadable: ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (typeof("expires_at") IN ('integer', 'real'))) OR "expires_at" IS NULL)
    -- 1
    "#);
    assert_snapshot!(tests_of(id(true, IdShape::Bytes)), @r#"
    "expires_at" >= ? AND "expires_at" < ? AND bygone_uuid7_us("expires_at") < ?
    -- 16 bytes, 16 bytes, 1794744000000001
    unreadable: ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (bygone_uuid7_us("expires_at") IS NOT NULL)) OR "expires_at" IS NULL)
    -- 16 bytes
    "#);
    assert_snapshot!(tests_of(id(false, IdShape::Text { upper: false })), @r#"
    "expires_at" >= ? AND "expires_at" < ? AND bygone_ulid_us("expires_at") < ?
    -- '00000000010000000000000000', '01m7fh87g10000000000000000', 1794744000000001
    unreadable: ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (bygone_ulid_us("expires_at") IS NOT NULL)) OR "expires_at" IS NULL)
    -- '00000000010000000000000000'
    "#);
}

/// Two columns, one of which is never null, and a condition that ends in a comment.
#[test]
fn several_columns_and_a_condition() {
    let engine = Engine::Postgres;
    let first = deadline(engine, Kind::Instant, "timestamptz");
    let second = Comparison { column: "used_at".to_owned(), ..first.clone() };
    let never_null = Comparison { nullable: false, ..second.clone() };
    let filter = Some("kind = 'a' -- only those".to_owned());
    let of = |columns: [&Comparison; 2], null| {
        let deadline = columns.map(Clone::clone).to_vec();
        let binding = Binding { deadline, null, filter: filter.clone(), ..binding(engine) };
        let due = shown(&binding.due(binding.query(""), cutoff()));
        format!("{due}\nunreadable: {}", shown(&binding.unreadable()).split_once(" WHERE ").unwrap().1)
    };
    assert_snapshot!(of([&first, &second], NullMeaning::Ignored), @r#"
    ("expires_at" IS NULL OR ("expires_at" >= $1 AND "expires_at" < $2)) AND ("used_at" IS NULL OR ("used_at" >= $3 AND "used_at" < $4)) AND ("expires_at" IS NOT NULL OR "used_at" IS NOT NULL) AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, 1794744000000000 us, -62135596800000000 us, 1794744000000000 us
    unreadable: ("expires_at" < $1 OR "used_at" < $2 OR ("expires_at" IS NULL AND "used_at" IS NULL)) AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, -62135596800000000 us
    "#);
    assert_snapshot!(of([&first, &never_null], NullMeaning::Ignored), @r#"
    ("expires_at" IS NULL OR ("expires_at" >= $1 AND "expires_at" < $2)) AND "used_at" >= $3 AND "used_at" < $4 AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, 1794744000000000 us, -62135596800000000 us, 1794744000000000 us
    unreadable: ("expires_at" < $1 OR "used_at" < $2) AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, -62135596800000000 us
    "#);
    assert_snapshot!(of([&first, &second], NullMeaning::Keeps), @r#"
    "expires_at" >= $1 AND "expires_at" < $2 AND "used_at" >= $3 AND "used_at" < $4 AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, 1794744000000000 us, -62135596800000000 us, 1794744000000000 us
    unreadable: ("expires_at" < $1 OR "expires_at" IS NULL OR "used_at" < $2 OR "used_at" IS NULL) AND (
    kind = 'a' -- only those
    )
    -- -62135596800000000 us, -62135596800000000 us
    "#);
}
