//! Identifiers that carry the time they were made: ULID and UUIDv7. Both begin with 48 bits of milliseconds.

use jiff::Timestamp;

/// Crockford's base 32.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The largest time such an identifier can carry.
const MILLIS_MAX: i64 = (1 << 48) - 1;

/// The smallest identifier of the first millisecond that is not before `cutoff`: an identifier below it is older.
pub(crate) fn lower_bound(cutoff: Timestamp) -> [u8; 16] {
    let micros = cutoff.as_microsecond();
    let millis = micros.div_euclid(1000) + i64::from(micros.rem_euclid(1000) != 0);
    first_of(millis)
}

/// The smallest identifier of a millisecond.
pub(crate) fn first_of(millis: i64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&millis.clamp(0, MILLIS_MAX).to_be_bytes()[2..]);
    bytes
}

/// Sixteen bytes as a ULID in text.
pub(crate) fn ulid_text(bytes: [u8; 16], upper: bool) -> String {
    let number = u128::from_be_bytes(bytes);
    let digit = |at: u32| {
        let index = usize::try_from((number >> (5 * at)) & 31).unwrap_or(0);
        char::from(ALPHABET[index])
    };
    let text: String = (0..26).rev().map(digit).collect();
    if upper { text } else { text.to_ascii_lowercase() }
}

/// Sixteen bytes as a UUID in text.
pub(crate) fn uuid_text(bytes: [u8; 16], upper: bool) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    let text = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    if upper { text.to_ascii_uppercase() } else { text }
}

/// The time in sixteen bytes.
pub(crate) fn millis(bytes: &[u8]) -> Option<i64> {
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    let mut wide = [0; 8];
    wide[2..].copy_from_slice(&bytes[..6]);
    Some(i64::from_be_bytes(wide))
}

/// Reads a ULID in text, in either case.
pub(crate) fn parse_ulid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 26 || text.as_bytes()[0] > b'7' {
        return None;
    }
    let mut number: u128 = 0;
    for byte in text.bytes() {
        let upper = byte.to_ascii_uppercase();
        let digit = ALPHABET.iter().position(|c| *c == upper)?;
        number = (number << 5) | u128::try_from(digit).ok()?;
    }
    Some(number.to_be_bytes())
}

/// Reads a UUID in text, with hyphens, in either case.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 || [8, 13, 18, 23].iter().any(|at| bytes[*at] != b'-') {
        return None;
    }
    let hex: Vec<u8> = bytes.iter().copied().filter(|b| *b != b'-').collect();
    let mut out = [0; 16];
    if hex.len() != 32 {
        return None;
    }
    for (at, pair) in hex.chunks(2).enumerate() {
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        out[at] = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Some(out)
}

/// Whether sixteen bytes are a UUID of version 7.
pub(crate) fn is_uuid7(bytes: &[u8; 16]) -> bool {
    bytes[6] >> 4 == 7
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_identifiers() {
        // The example of the reference implementation.
        assert_eq!(parse_ulid("01ARYZ6S41TSV4RRFFQ69G5FAV").and_then(|b| millis(&b)), Some(1_469_918_176_385));
        // From RFC 9562, appendix A.6: 2022-02-22T19:22:22.00Z.
        let uuid = parse_uuid("017F22E2-79B0-7CC3-98C4-DC0C0C07398F").unwrap();
        assert_eq!(millis(&uuid), Some(1_645_557_742_000));
        assert!(is_uuid7(&uuid));
    }

    #[test]
    fn the_bound_is_strict_to_the_microsecond() {
        let at = |text: &str| millis(&lower_bound(text.parse().unwrap())).unwrap();
        let whole = at("2026-11-15T12:00:00.123Z");
        assert_eq!(at("2026-11-15T12:00:00.123001Z"), whole + 1, "that millisecond is over");
        assert_eq!(at("2026-11-15T12:00:00.122999Z"), whole);
        assert_eq!(at("1960-01-01T00:00:00Z"), 0);
    }

    proptest! {
        #[test]
        fn texts_round_trip_and_sort_as_bytes_do(a: [u8; 16], b: [u8; 16], upper: bool) {
            prop_assert_eq!(parse_ulid(&ulid_text(a, upper)), Some(a));
            prop_assert_eq!(parse_uuid(&uuid_text(a, upper)), Some(a));
            prop_assert_eq!(ulid_text(a, upper).cmp(&ulid_text(b, upper)), a.cmp(&b));
            prop_assert_eq!(uuid_text(a, upper).cmp(&uuid_text(b, upper)), a.cmp(&b));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = (parse_ulid(&text), parse_uuid(&text));
        }
    }
}
