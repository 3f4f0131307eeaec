//! The statements of a page and of a survey.

use insta::assert_snapshot;

use super::*;
use crate::value::Row;
use crate::walk::{Choice, Shape};
use crate::walk::{Position, Upper};

/// By slices where rows lie in order, across the table where many of them are scattered.
fn choice(binding: &Binding, scattered: bool) -> Choice {
    binding.choose(Shape { share: Some(0.5), order: Some(if scattered { 0.0 } else { 1.0 }) })
}

fn survey(engine: Engine) -> String {
    let binding = binding(engine);
    let (column, index) = binding.lead().unwrap();
    all(&[
        binding.survey(cutoff()),
        binding.oldest(column, cutoff()),
        binding.unreadable(),
        binding.holds(1_000),
        binding.neighbours("id", column, index, cutoff(), 200),
        Binding { filter: Some("kind = 'a'".to_owned()), ..binding.clone() }.nothing(),
    ])
}

/// Where a page ends, and the page.
fn swift(binding: &Binding, scattered: bool) -> String {
    let axis = &choice(binding, scattered).axis;
    let (from, to) = (Value::from("a"), Value::from("b"));
    let begin = [axis.beginning(), Position::From(from.clone()), Position::Past(from.clone())];
    let mut queries: Vec<Query> = begin.iter().map(|begin| binding.bound(axis, begin, 500, Some(&to))).collect();
    queries.push(binding.remove_range(axis, &begin[1], &Upper::Below(to), cutoff()));
    queries.push(binding.remove_range(axis, &begin[2], &Upper::End, cutoff()));
    all(&queries)
}

fn careful(binding: &Binding, keys: &[Row]) -> String {
    let axis = &choice(binding, false).axis;
    let from = Position::After(Value::from("a"), keys[0].clone());
    let mut queries = vec![
        binding.candidates(axis, &from, &Upper::Below(Value::from("b")), cutoff(), 100),
        binding.candidates(axis, &from, &Upper::At(Value::from("a")), cutoff(), 100),
        binding.still_due(keys, cutoff()),
        binding.remove_rows(keys, cutoff()),
    ];
    if binding.engine() != Engine::Sqlite {
        queries.insert(2, binding.lock(keys, cutoff()));
    }
    queries.extend(binding.remove_some(axis, &Value::from("a"), cutoff(), 100));
    all(&queries)
}

fn one_key() -> Vec<Row> {
    (1..4).map(|n| vec![Value::Int(n)]).collect()
}

fn careful_by_two_keys(engine: Engine) -> String {
    let binding = Binding { key: vec![key(engine, "part"), key(engine, "id")], ..binding(engine) };
    careful(&binding, &[vec![Value::Int(1), Value::Int(2)], vec![Value::Int(3), Value::Int(4)]])
}

#[test]
fn surveys() {
    assert_snapshot!(survey(Engine::Postgres), @r#"
    SELECT count(*) FROM "public"."sessions" WHERE "expires_at" >= $1 AND "expires_at" < $2
    -- -62135596800000000 us, 1794744000000000 us

    SELECT "expires_at"::text FROM "public"."sessions" WHERE "expires_at" >= $1 AND "expires_at" < $2 AND "expires_at" IS NOT NULL ORDER BY "public"."sessions"."expires_at" LIMIT 1
    -- -62135596800000000 us, 1794744000000000 us

    SELECT count(*) FROM "public"."sessions" WHERE ("expires_at" < $1 OR "expires_at" IS NULL)
    -- -62135596800000000 us

    SELECT count(*) FROM (SELECT 1 FROM "public"."sessions" LIMIT $1::int8) AS some_rows
    -- 1000

    SELECT id FROM "public"."sessions" WHERE "expires_at" >= $1 AND "expires_at" < $2 ORDER BY "public"."sessions"."expires_at" LIMIT $3::int8
    -- -62135596800000000 us, 1794744000000000 us, 200

    SELECT 1 FROM "public"."sessions" WHERE 1 = 0 AND (
    kind = 'a'
    )
    --
    "#);
    assert_snapshot!(survey(Engine::MySql), @"
    SELECT count(*) FROM `app`.`sessions` WHERE `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    SELECT CAST(`expires_at` AS CHAR) FROM `app`.`sessions` WHERE `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 AND `expires_at` IS NOT NULL ORDER BY `app`.`sessions`.`expires_at` LIMIT 1
    -- '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    SELECT count(*) FROM `app`.`sessions` WHERE (`expires_at` < ? OR (`expires_at` IS NOT NULL AND NOT (MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0)) OR `expires_at` IS NULL)
    -- '0001-01-01 00:00:00'

    SELECT count(*) FROM (SELECT 1 FROM `app`.`sessions` LIMIT ?) AS some_rows
    -- 1000

    SELECT id FROM `app`.`sessions` WHERE `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 ORDER BY `app`.`sessions`.`expires_at` LIMIT ?
    -- '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000', 200

    SELECT 1 FROM `app`.`sessions` WHERE 1 = 0 AND (
    kind = 'a'
    )
    --
    ");
    assert_snapshot!(survey(Engine::Sqlite), @r#"
    SELECT count(*) FROM "sessions" WHERE "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- '0', '2026-11-17', 1794744000000000

    SELECT "expires_at" FROM "sessions" WHERE "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? AND "expires_at" IS NOT NULL ORDER BY "sessions"."expires_at" LIMIT 1
    -- '0', '2026-11-17', 1794744000000000

    SELECT count(*) FROM "sessions" WHERE ("expires_at" < ? OR ("expires_at" IS NOT NULL AND NOT (bygone_text_us("expires_at", 'UTC') IS NOT NULL)) OR "expires_at" IS NULL)
    -- '0'

    SELECT count(*) FROM (SELECT 1 FROM "sessions" LIMIT ?) AS some_rows
    -- 1000

    SELECT id FROM "sessions" WHERE "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? ORDER BY "sessions"."expires_at" LIMIT ?
    -- '0', '2026-11-17', 1794744000000000, 200

    SELECT 1 FROM "sessions" WHERE 1 = 0 AND (
    kind = 'a'
    )
    --
    "#);
}

#[test]
fn swift_pages_by_slices() {
    assert_snapshot!(swift(&binding(Engine::Postgres), false), @r#"
    SELECT "expires_at"::text, "expires_at" = $1 FROM (SELECT "expires_at" FROM "public"."sessions" WHERE "expires_at" >= $2 AND "expires_at" < $3::timestamp with time zone ORDER BY "public"."sessions"."expires_at" LIMIT 1 OFFSET $4::int8) AS page_end
    -- -62135596800000000 us, -62135596800000000 us, 'b', 500

    SELECT "expires_at"::text, "expires_at" = $1::timestamp with time zone FROM (SELECT "expires_at" FROM "public"."sessions" WHERE "expires_at" >= $2::timestamp with time zone AND "expires_at" < $3::timestamp with time zone ORDER BY "public"."sessions"."expires_at" LIMIT 1 OFFSET $4::int8) AS page_end
    -- 'a', 'a', 'b', 500

    SELECT "expires_at"::text FROM (SELECT "expires_at" FROM "public"."sessions" WHERE "expires_at" > $1::timestamp with time zone AND "expires_at" < $2::timestamp with time zone ORDER BY "public"."sessions"."expires_at" LIMIT 1 OFFSET $3::int8) AS page_end
    -- 'a', 'b', 500

    DELETE FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND "expires_at" < $2::timestamp with time zone AND "expires_at" >= $3 AND "expires_at" < $4
    -- 'a', 'b', -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE "expires_at" > $1::timestamp with time zone AND "expires_at" >= $2 AND "expires_at" < $3
    -- 'a', -62135596800000000 us, 1794744000000000 us
    "#);
    assert_snapshot!(swift(&binding(Engine::MySql), false), @"
    SELECT CAST(`expires_at` AS CHAR), `expires_at` = ? FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND `expires_at` < ? ORDER BY `app`.`sessions`.`expires_at` LIMIT 1 OFFSET ?
    -- '0001-01-01 00:00:00', '0001-01-01 00:00:00', 'b', 500

    SELECT CAST(`expires_at` AS CHAR), `expires_at` = ? FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND `expires_at` < ? ORDER BY `app`.`sessions`.`expires_at` LIMIT 1 OFFSET ?
    -- 'a', 'a', 'b', 500

    SELECT CAST(`expires_at` AS CHAR) FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` > ? AND `expires_at` < ? ORDER BY `app`.`sessions`.`expires_at` LIMIT 1 OFFSET ?
    -- 'a', 'b', 500

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND `expires_at` < ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 'a', 'b', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` > ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 'a', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'
    ");
    assert_snapshot!(swift(&binding(Engine::Sqlite), false), @r#"
    SELECT "expires_at", "expires_at" = ? FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND "expires_at" < ? ORDER BY "sessions"."expires_at" LIMIT 1 OFFSET ?
    -- '0', '0', 'b', 500

    SELECT "expires_at", "expires_at" = ? FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND "expires_at" < ? ORDER BY "sessions"."expires_at" LIMIT 1 OFFSET ?
    -- 'a', 'a', 'b', 500

    SELECT "expires_at" FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" > ? AND "expires_at" < ? ORDER BY "sessions"."expires_at" LIMIT 1 OFFSET ?
    -- 'a', 'b', 500

    DELETE FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND "expires_at" < ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 'a', 'b', '0', '2026-11-17', 1794744000000000

    DELETE FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" > ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 'a', '0', '2026-11-17', 1794744000000000
    "#);
}

#[test]
fn swift_pages_across_the_table() {
    assert_snapshot!(swift(&binding(Engine::Postgres), true), @r#"
    SELECT ctid::text, ctid = $1::tid FROM (SELECT ctid FROM "public"."sessions" WHERE ctid >= $2::tid AND ctid < $3::tid ORDER BY "public"."sessions".ctid LIMIT 1 OFFSET $4::int8) AS page_end
    -- '(0,0)', '(0,0)', 'b', 500

    SELECT ctid::text, ctid = $1::tid FROM (SELECT ctid FROM "public"."sessions" WHERE ctid >= $2::tid AND ctid < $3::tid ORDER BY "public"."sessions".ctid LIMIT 1 OFFSET $4::int8) AS page_end
    -- 'a', 'a', 'b', 500

    SELECT ctid::text FROM (SELECT ctid FROM "public"."sessions" WHERE ctid > $1::tid AND ctid < $2::tid ORDER BY "public"."sessions".ctid LIMIT 1 OFFSET $3::int8) AS page_end
    -- 'a', 'b', 500

    DELETE FROM "public"."sessions" WHERE ctid >= $1::tid AND ctid < $2::tid AND "expires_at" >= $3 AND "expires_at" < $4
    -- 'a', 'b', -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE ctid > $1::tid AND "expires_at" >= $2 AND "expires_at" < $3
    -- 'a', -62135596800000000 us, 1794744000000000 us
    "#);
    assert_snapshot!(swift(&binding(Engine::MySql), true), @"
    SELECT `id` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE 1 = 1 AND `id` < ? ORDER BY `app`.`sessions`.`id` LIMIT 1 OFFSET ?
    -- 'b', 500

    SELECT `id`, `id` = ? FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` >= ? AND `id` < ? ORDER BY `app`.`sessions`.`id` LIMIT 1 OFFSET ?
    -- 'a', 'a', 'b', 500

    SELECT `id` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` > ? AND `id` < ? ORDER BY `app`.`sessions`.`id` LIMIT 1 OFFSET ?
    -- 'a', 'b', 500

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` >= ? AND `id` < ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 'a', 'b', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` > ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 'a', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'
    ");
    assert_snapshot!(swift(&binding(Engine::Sqlite), true), @r#"
    SELECT rowid FROM "sessions" NOT INDEXED WHERE 1 = 1 AND rowid < ? ORDER BY "sessions".rowid LIMIT 1 OFFSET ?
    -- 'b', 500

    SELECT rowid, rowid = ? FROM "sessions" NOT INDEXED WHERE rowid >= ? AND rowid < ? ORDER BY "sessions".rowid LIMIT 1 OFFSET ?
    -- 'a', 'a', 'b', 500

    SELECT rowid FROM "sessions" NOT INDEXED WHERE rowid > ? AND rowid < ? ORDER BY "sessions".rowid LIMIT 1 OFFSET ?
    -- 'a', 'b', 500

    DELETE FROM "sessions" NOT INDEXED WHERE rowid >= ? AND rowid < ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 'a', 'b', '0', '2026-11-17', 1794744000000000

    DELETE FROM "sessions" NOT INDEXED WHERE rowid > ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 'a', '0', '2026-11-17', 1794744000000000
    "#);
}

#[test]
fn careful_pages() {
    assert_snapshot!(careful(&binding(Engine::Postgres), &one_key()), @r#"
    SELECT "expires_at"::text, "id"::text, "id"::text FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND ("expires_at" > $2::timestamp with time zone OR "id" > $3::bigint) AND "expires_at" < $4::timestamp with time zone AND "expires_at" >= $5 AND "expires_at" < $6 ORDER BY "public"."sessions"."expires_at", "public"."sessions"."id" LIMIT $7::int8
    -- 'a', 'a', 1, 'b', -62135596800000000 us, 1794744000000000 us, 100

    SELECT "expires_at"::text, "id"::text, "id"::text FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND ("expires_at" > $2::timestamp with time zone OR "id" > $3::bigint) AND "expires_at" = $4::timestamp with time zone AND "expires_at" >= $5 AND "expires_at" < $6 ORDER BY "public"."sessions"."expires_at", "public"."sessions"."id" LIMIT $7::int8
    -- 'a', 'a', 1, 'a', -62135596800000000 us, 1794744000000000 us, 100

    SELECT "id"::text FROM "public"."sessions" WHERE "id" IN ($1::bigint, $2::bigint, $3::bigint) AND "expires_at" >= $4 AND "expires_at" < $5 FOR UPDATE SKIP LOCKED
    -- 1, 2, 3, -62135596800000000 us, 1794744000000000 us

    SELECT count(*) FROM "public"."sessions" WHERE "id" IN ($1::bigint, $2::bigint, $3::bigint) AND "expires_at" >= $4 AND "expires_at" < $5
    -- 1, 2, 3, -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE "id" IN ($1::bigint, $2::bigint, $3::bigint) AND "expires_at" >= $4 AND "expires_at" < $5
    -- 1, 2, 3, -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE ctid = ANY(ARRAY(SELECT ctid FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND "expires_at" = $2::timestamp with time zone AND "expires_at" >= $3 AND "expires_at" < $4 LIMIT $5::int8 FOR UPDATE SKIP LOCKED))
    -- 'a', 'a', -62135596800000000 us, 1794744000000000 us, 100
    "#);
    assert_snapshot!(careful(&binding(Engine::MySql), &one_key()), @"
    SELECT CAST(`expires_at` AS CHAR), `id`, `id` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND (`expires_at` > ? OR `id` > ?) AND `expires_at` < ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 ORDER BY `app`.`sessions`.`expires_at`, `app`.`sessions`.`id` LIMIT ?
    -- 'a', 'a', 1, 'b', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000', 100

    SELECT CAST(`expires_at` AS CHAR), `id`, `id` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND (`expires_at` > ? OR `id` > ?) AND `expires_at` = ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 ORDER BY `app`.`sessions`.`expires_at`, `app`.`sessions`.`id` LIMIT ?
    -- 'a', 'a', 1, 'a', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000', 100

    SELECT `id` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` IN (?, ?, ?, ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 FOR UPDATE SKIP LOCKED
    -- 1, 2, 3, 3, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    SELECT count(*) FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` IN (?, ?, ?, ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 1, 2, 3, 3, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE `id` IN (?, ?, ?, ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 1, 2, 3, 3, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'
    ");
    assert_snapshot!(careful(&binding(Engine::Sqlite), &one_key()), @r#"
    SELECT "expires_at", rowid, rowid FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND ("expires_at" > ? OR rowid > ?) AND "expires_at" < ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? ORDER BY "sessions"."expires_at", "sessions".rowid LIMIT ?
    -- 'a', 'a', 1, 'b', '0', '2026-11-17', 1794744000000000, 100

    SELECT "expires_at", rowid, rowid FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND ("expires_at" > ? OR rowid > ?) AND "expires_at" = ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? ORDER BY "sessions"."expires_at", "sessions".rowid LIMIT ?
    -- 'a', 'a', 1, 'a', '0', '2026-11-17', 1794744000000000, 100

    SELECT count(*) FROM "sessions" NOT INDEXED WHERE rowid IN (?, ?, ?) AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 1, 2, 3, '0', '2026-11-17', 1794744000000000

    DELETE FROM "sessions" NOT INDEXED WHERE rowid IN (?, ?, ?) AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 1, 2, 3, '0', '2026-11-17', 1794744000000000
    "#);
}

#[test]
fn careful_pages_by_a_key_of_two_columns() {
    assert_snapshot!(careful_by_two_keys(Engine::Postgres), @r#"
    SELECT "expires_at"::text, "part"::text, "id"::text, "part"::text, "id"::text FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND ("expires_at" > $2::timestamp with time zone OR ("part" > $3::bigint OR ("part" = $4::bigint AND "id" > $5::bigint))) AND "expires_at" < $6::timestamp with time zone AND "expires_at" >= $7 AND "expires_at" < $8 ORDER BY "public"."sessions"."expires_at", "public"."sessions"."part", "public"."sessions"."id" LIMIT $9::int8
    -- 'a', 'a', 1, 1, 2, 'b', -62135596800000000 us, 1794744000000000 us, 100

    SELECT "expires_at"::text, "part"::text, "id"::text, "part"::text, "id"::text FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND ("expires_at" > $2::timestamp with time zone OR ("part" > $3::bigint OR ("part" = $4::bigint AND "id" > $5::bigint))) AND "expires_at" = $6::timestamp with time zone AND "expires_at" >= $7 AND "expires_at" < $8 ORDER BY "public"."sessions"."expires_at", "public"."sessions"."part", "public"."sessions"."id" LIMIT $9::int8
    -- 'a', 'a', 1, 1, 2, 'a', -62135596800000000 us, 1794744000000000 us, 100

    SELECT "part"::text, "id"::text FROM "public"."sessions" WHERE ("part", "id") IN (($1::bigint, $2::bigint), ($3::bigint, $4::bigint)) AND "expires_at" >= $5 AND "expires_at" < $6 FOR UPDATE SKIP LOCKED
    -- 1, 2, 3, 4, -62135596800000000 us, 1794744000000000 us

    SELECT count(*) FROM "public"."sessions" WHERE ("part", "id") IN (($1::bigint, $2::bigint), ($3::bigint, $4::bigint)) AND "expires_at" >= $5 AND "expires_at" < $6
    -- 1, 2, 3, 4, -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE ("part", "id") IN (($1::bigint, $2::bigint), ($3::bigint, $4::bigint)) AND "expires_at" >= $5 AND "expires_at" < $6
    -- 1, 2, 3, 4, -62135596800000000 us, 1794744000000000 us

    DELETE FROM "public"."sessions" WHERE ctid = ANY(ARRAY(SELECT ctid FROM "public"."sessions" WHERE "expires_at" >= $1::timestamp with time zone AND "expires_at" = $2::timestamp with time zone AND "expires_at" >= $3 AND "expires_at" < $4 LIMIT $5::int8 FOR UPDATE SKIP LOCKED))
    -- 'a', 'a', -62135596800000000 us, 1794744000000000 us, 100
    "#);
    assert_snapshot!(careful_by_two_keys(Engine::MySql), @"
    SELECT CAST(`expires_at` AS CHAR), `part`, `id`, `part`, `id` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND (`expires_at` > ? OR (`part` > ? OR (`part` = ? AND `id` > ?))) AND `expires_at` < ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 ORDER BY `app`.`sessions`.`expires_at`, `app`.`sessions`.`part`, `app`.`sessions`.`id` LIMIT ?
    -- 'a', 'a', 1, 1, 2, 'b', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000', 100

    SELECT CAST(`expires_at` AS CHAR), `part`, `id`, `part`, `id` FROM `app`.`sessions` FORCE INDEX (`by_expiry`) WHERE `expires_at` >= ? AND (`expires_at` > ? OR (`part` > ? OR (`part` = ? AND `id` > ?))) AND `expires_at` = ? AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 ORDER BY `app`.`sessions`.`expires_at`, `app`.`sessions`.`part`, `app`.`sessions`.`id` LIMIT ?
    -- 'a', 'a', 1, 1, 2, 'a', '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000', 100

    SELECT `part`, `id` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE (`part` = ? AND `id` = ? OR `part` = ? AND `id` = ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 FOR UPDATE SKIP LOCKED
    -- 1, 2, 3, 4, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    SELECT count(*) FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE (`part` = ? AND `id` = ? OR `part` = ? AND `id` = ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 1, 2, 3, 4, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'

    DELETE `app`.`sessions` FROM `app`.`sessions` FORCE INDEX (`PRIMARY`) WHERE (`part` = ? AND `id` = ? OR `part` = ? AND `id` = ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0
    -- 1, 2, 3, 4, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'
    ");
    assert_snapshot!(careful_by_two_keys(Engine::Sqlite), @r#"
    SELECT "expires_at", "part", "id", "part", "id" FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND ("expires_at" > ? OR ("part" > ? OR ("part" = ? AND "id" > ?))) AND "expires_at" < ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? ORDER BY "sessions"."expires_at", "sessions"."part", "sessions"."id" LIMIT ?
    -- 'a', 'a', 1, 1, 2, 'b', '0', '2026-11-17', 1794744000000000, 100

    SELECT "expires_at", "part", "id", "part", "id" FROM "sessions" INDEXED BY "by_expiry" WHERE "expires_at" >= ? AND ("expires_at" > ? OR ("part" > ? OR ("part" = ? AND "id" > ?))) AND "expires_at" = ? AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ? ORDER BY "sessions"."expires_at", "sessions"."part", "sessions"."id" LIMIT ?
    -- 'a', 'a', 1, 1, 2, 'a', '0', '2026-11-17', 1794744000000000, 100

    SELECT count(*) FROM "sessions" INDEXED BY "sqlite_autoindex_sessions_1" WHERE ("part", "id") IN (VALUES (?, ?), (?, ?)) AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 1, 2, 3, 4, '0', '2026-11-17', 1794744000000000

    DELETE FROM "sessions" INDEXED BY "sqlite_autoindex_sessions_1" WHERE ("part", "id") IN (VALUES (?, ?), (?, ?)) AND "expires_at" >= ? AND "expires_at" < ? AND bygone_text_us("expires_at", 'UTC') < ?
    -- 1, 2, 3, 4, '0', '2026-11-17', 1794744000000000
    "#);
}

/// MySQL cannot be told an index where the condition looks at the table again.
#[test]
fn a_condition_that_looks_at_the_table_again() {
    let filter = Some("id < (SELECT max(id) FROM sessions)".to_owned());
    let binding = Binding { filter, ..binding(Engine::MySql) };
    assert_snapshot!(shown(&binding.remove_rows(&one_key(), cutoff())), @"
    DELETE FROM `app`.`sessions` WHERE `id` IN (?, ?, ?, ?) AND `expires_at` >= ? AND `expires_at` < ? AND MONTH(`expires_at`) > 0 AND DAYOFMONTH(`expires_at`) > 0 AND (
    id < (SELECT max(id) FROM sessions)
    )
    -- 1, 2, 3, 3, '0001-01-01 00:00:00', '2026-11-15 12:00:00.000000'
    ");
}
