//! How long an HTTP response stays fresh (RFC 9111, section 4.2), as far as a cache of one kind of document needs it.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// What the headers of a response say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It must not be kept, or not be used again without asking.
    Never,
    /// It stays fresh for so long from now on.
    For(Duration),
    /// They say nothing.
    Unsaid,
}

impl Freshness {
    /// Reads headers. Names come in any case, and a header may come several times.
    pub(crate) fn of<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>, now: Timestamp) -> Self {
        let mut said = Said::default();
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("cache-control") {
                directives(value).for_each(|(name, value)| said.directive(name, value));
            } else if name.eq_ignore_ascii_case("age") {
                said.age = said.age.max(delta_seconds(value));
            } else if name.eq_ignore_ascii_case("date") {
                said.date = http_date(value);
            } else if name.eq_ignore_ascii_case("expires") {
                // A date that cannot be read, above all "0", means the past.
                said.expires = Some(http_date(value).unwrap_or(Timestamp::MIN));
            } else if name.eq_ignore_ascii_case("vary") && value.trim() == "*" {
                said.never = true;
            }
        }
        said.freshness(now)
    }
}

#[derive(Debug, Default)]
struct Said {
    never: bool,
    max_age: Option<Duration>,
    age: Option<Duration>,
    date: Option<Timestamp>,
    expires: Option<Timestamp>,
}

impl Said {
    fn directive(&mut self, name: &str, value: Option<&str>) {
        if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
            self.never = true;
        } else if name.eq_ignore_ascii_case("max-age") {
            // What cannot be read is stale; of several the shortest counts.
            let life = value.and_then(delta_seconds).unwrap_or(Duration::ZERO);
            self.max_age = Some(self.max_age.map_or(life, |known| known.min(life)));
        }
    }

    /// `freshness_lifetime - current_age`: what is left of it.
    fn freshness(&self, now: Timestamp) -> Freshness {
        if self.never {
            return Freshness::Never;
        }
        let since =
            |from: Timestamp, to: Timestamp| Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO);
        let lifetime = match (self.max_age, self.expires) {
            (Some(life), _) => life,
            (None, Some(expires)) => since(self.date.unwrap_or(now), expires),
            (None, None) => return Freshness::Unsaid,
        };
        let apparent = self.date.map_or(Duration::ZERO, |date| since(date, now));
        match lifetime.saturating_sub(apparent.max(self.age.unwrap_or_default())) {
            // Fresh while the lifetime is more than the age, strictly.
            Duration::ZERO => Freshness::Never,
            left => Freshness::For(left),
        }
    }
}

/// The directives of a `Cache-Control` header, with quoted values as they are meant.
fn directives(header: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut quoted = false;
    let parts = header.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(|part| match part.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
        None => (part, None),
    })
}

/// Whole seconds; more than a number holds is as good as for ever.
fn delta_seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))))
}

fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-15T12:00:00Z";

    fn of(headers: &[(&str, &str)]) -> Freshness {
        Freshness::of(headers.iter().copied(), NOW.parse().unwrap())
    }

    fn seconds(seconds: u64) -> Freshness {
        Freshness::For(Duration::from_secs(seconds))
    }

    #[test]
    fn what_must_not_be_kept() {
        for value in ["no-store", "No-Store", "max-age=600, no-store", "no-cache", "no-cache=\"set-cookie\", max-age=9"]
        {
            assert_eq!(of(&[("Cache-Control", value)]), Freshness::Never, "{value}");
        }
        assert_eq!(of(&[("cache-control", "max-age=600"), ("CACHE-CONTROL", "no-store")]), Freshness::Never);
        assert_eq!(of(&[("cache-control", "max-age=0")]), Freshness::Never);
        assert_eq!(of(&[("cache-control", "max-age=soon")]), Freshness::Never);
        assert_eq!(of(&[("expires", "0")]), Freshness::Never);
        assert_eq!(of(&[("vary", "*"), ("cache-control", "max-age=9")]), Freshness::Never);
        assert_eq!(
            of(&[("cache-control", "private=\"no-store, x\", max-age=9")]),
            seconds(9),
            "a quoted value is no directive"
        );
    }

    #[test]
    fn fresh_while_the_lifetime_is_more_than_the_age() {
        assert_eq!(of(&[("cache-control", "max-age=600")]), seconds(600));
        assert_eq!(of(&[("cache-control", "max-age=600"), ("age", "599")]), seconds(1));
        assert_eq!(of(&[("cache-control", "max-age=600"), ("age", "600")]), Freshness::Never);
        assert_eq!(of(&[("cache-control", "max-age=600, max-age=60")]), seconds(60));
        assert_eq!(of(&[("cache-control", "max-age=99999999999999999999999")]), seconds(u64::from(u32::MAX)));
        let expires = ("expires", "Sun, 15 Nov 2026 12:10:00 GMT");
        assert_eq!(of(&[expires]), seconds(600));
        assert_eq!(of(&[expires, ("date", "Sun, 15 Nov 2026 11:59:00 GMT")]), seconds(600));
        assert_eq!(of(&[expires, ("date", "Sun, 15 Nov 2026 11:59:00 GMT"), ("age", "120")]), seconds(540));
        assert_eq!(of(&[expires, ("cache-control", "max-age=5")]), seconds(5));
        assert_eq!(of(&[("content-type", "application/json")]), Freshness::Unsaid);
    }
}
