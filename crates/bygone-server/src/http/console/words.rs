//! Numbers, times and addresses, as people read them.

use bytesize::ByteSize;
use jiff::{SignedDuration, Timestamp, Unit};
use maud::{Markup, html};

/// What stands where nothing is known.
const NOTHING: &str = "–";

/// A number with its thousands apart.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that may not be known: unknown is not zero.
pub(super) fn known(value: Option<u64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), number)
}

/// How long something takes or is behind, in its two largest units.
pub(super) fn length(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut rest = seconds;
    let mut parts = units.map(|(size, unit)| {
        let count = rest / size;
        rest %= size;
        (count, unit)
    });
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(parts.len() - 1);
    let told = parts[first..].iter_mut().take(2).filter(|(count, _)| *count > 0 || seconds == 0);
    told.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

/// A length that may not be known.
pub(super) fn known_length(seconds: Option<u64>) -> String {
    seconds.map_or_else(|| NOTHING.to_owned(), length)
}

/// A moment: how far from now, and which one.
pub(super) fn moment(then: Timestamp, now: Timestamp) -> Markup {
    let apart = then.duration_since(now);
    let far = length(apart.unsigned_abs().as_secs());
    let told = if apart < SignedDuration::ZERO { format!("{far} ago") } else { format!("in {far}") };
    let rounded = then.round(Unit::Second).unwrap_or(then);
    html! { time datetime=(rounded) title=(rounded) { (told) } }
}

/// A moment that may not be.
pub(super) fn known_moment(then: Option<Timestamp>, now: Timestamp) -> Markup {
    then.map_or_else(|| html! { (NOTHING) }, |then| moment(then, now))
}

/// A moment in full.
pub(super) fn instant(then: Timestamp) -> Markup {
    let rounded = then.round(Unit::Second).unwrap_or(then);
    html! { time datetime=(rounded) { (rounded.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];

/// Bytes, in the largest unit that fits.
pub(super) fn size(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

/// The page of a policy. Its name may be anything.
pub(super) fn policy_path(name: &str) -> String {
    path_of("/policies/", name)
}

/// The page of a source. Its name may be anything.
pub(super) fn source_path(name: &str) -> String {
    path_of("/sources/", name)
}

fn path_of(place: &str, name: &str) -> String {
    let mut path = place.to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push('%');
            path.extend([byte >> 4, byte & 15].iter().map(|digit| HEX[usize::from(*digit)]));
        }
    }
    path
}

/// A word of the program, as one reads it: `budget_items` is `budget items`.
pub(super) fn plain(word: &str) -> String {
    word.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_read_well() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 59, 60, 3_600, 3_661, 90_000].map(length),
            ["0 s", "59 s", "1 min", "1 h", "1 h 1 min", "1 d 1 h"]
        );
        assert_eq!(known(None), "–");
        assert_eq!([0, 1_023, 1_536, 5 << 30].map(size), ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
    }

    #[test]
    fn a_moment_is_told_from_now() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        assert!(moment(now - SignedDuration::from_mins(5), now).into_string().contains("5 min ago"));
        assert!(moment(now + SignedDuration::from_hours(2), now).into_string().contains("in 2 h"));
    }

    #[test]
    fn any_name_is_one_part_of_a_path() {
        assert_eq!(policy_path("a-b_c.1"), "/policies/a-b_c.1");
        assert_eq!(policy_path("<a/b>?#ü"), "/policies/%3Ca%2Fb%3E%3F%23%C3%BC");
        assert_eq!(source_path("a b"), "/sources/a%20b");
    }
}
