//! Functions given to SQLite, so that its statements read a deadline with the very code that tests use.
//!
//! Each returns microseconds since 1970, or NULL for what cannot be read.

use std::cell::RefCell;

use jiff::tz::TimeZone;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use crate::{text_time, time_id};

/// Reads text as an instant; the second argument is the zone of text without an offset.
pub(crate) const TEXT_US: &str = "bygone_text_us";
/// Reads the time in a ULID, in text or as 16 bytes.
pub(crate) const ULID_US: &str = "bygone_ulid_us";
/// Reads the time in a UUIDv7, in text or as 16 bytes.
pub(crate) const UUID7_US: &str = "bygone_uuid7_us";

pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function(TEXT_US, 2, flags, text_us)?;
    connection.create_scalar_function(ULID_US, 1, flags, |context| {
        Ok(id_millis(context.get_raw(0), time_id::parse_ulid, |_| true))
    })?;
    connection.create_scalar_function(UUID7_US, 1, flags, |context| {
        Ok(id_millis(context.get_raw(0), time_id::parse_uuid, time_id::is_uuid7))
    })
}

thread_local! {
    /// The zone of the last call: a statement asks for the same one with every row.
    static ZONE: RefCell<Option<(String, TimeZone)>> = const { RefCell::new(None) };
}

fn text_us(context: &Context<'_>) -> rusqlite::Result<Option<i64>> {
    let ValueRef::Text(bytes) = context.get_raw(0) else { return Ok(None) };
    let Ok(text) = str::from_utf8(bytes) else { return Ok(None) };
    let name = context.get_raw(1).as_str()?;
    Ok(ZONE.with_borrow_mut(|cached| {
        if cached.as_ref().is_none_or(|(known, _)| known != name) {
            *cached = Some((name.to_owned(), TimeZone::get(name).ok()?));
        }
        let (_, zone) = cached.as_ref()?;
        // Nanoseconds round up to the next microsecond: the later instant is the safe one.
        let nanos = text_time::parse(text, zone)?.as_nanosecond();
        i64::try_from(nanos.div_euclid(1000) + i128::from(nanos.rem_euclid(1000) != 0)).ok()
    }))
}

fn id_millis(
    value: ValueRef<'_>,
    parse: impl Fn(&str) -> Option<[u8; 16]>,
    valid: impl Fn(&[u8; 16]) -> bool,
) -> Option<i64> {
    let bytes = match value {
        ValueRef::Blob(bytes) => bytes.try_into().ok()?,
        ValueRef::Text(bytes) => parse(str::from_utf8(bytes).ok()?)?,
        _ => return None,
    };
    // The nil identifier is nobody's; it stands for "none".
    if !valid(&bytes) || bytes == [0; 16] {
        return None;
    }
    time_id::millis(&bytes)?.checked_mul(1000)
}
