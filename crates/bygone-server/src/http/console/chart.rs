//! What was removed on each day, and what ends in each hour, as small pictures.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use maud::{Markup, html};

use super::words::{moment, number};
use crate::http::documents::DayDocument;
use crate::inspection::EndingHour;

/// How many days are shown.
const DAYS: i32 = 30;
/// The width of a bar with what is beside it.
const STEP: usize = 6;
const HEIGHT: u64 = 36;

/// A bar for each of the last thirty days. The words beside it tell what the picture does.
pub(super) fn chart(days: &[DayDocument], now: Timestamp) -> Markup {
    let done: BTreeMap<&str, u64> = days.iter().map(|day| (day.day.as_str(), day.done)).collect();
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = |back: i32| today.checked_sub(back.days()).unwrap_or(today).to_string();
    let bars: Vec<(String, u64)> =
        (0..DAYS).rev().map(day).map(|day| (day.clone(), done.get(&*day).copied().unwrap_or(0))).collect();
    let (total, most) = sum_and_most(&bars);
    let label = format!("{} in the last {DAYS} days, at most {} on a day", number(total), number(most));
    picture(&label, &bars)
}

/// A bar for each hour to come, and the same in words below.
pub(super) fn histogram(hours: &[EndingHour], now: Timestamp) -> Markup {
    let from = |hour: &EndingHour| hour.begins.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string();
    let bars: Vec<(String, u64)> = hours.iter().map(|hour| (from(hour), hour.ending)).collect();
    let (total, most) = sum_and_most(&bars);
    let more = if hours.iter().any(|hour| hour.more) { "more than " } else { "" };
    let label =
        format!("{more}{} in the next {} hours, at most {} in an hour", number(total), hours.len(), number(most));
    let first = hours.iter().find(|hour| hour.ending > 0);
    html! {
        (picture(&label, &bars))
        p { (label) @if let Some(first) = first { "; the first in the hour of " (moment(first.begins.max(now), now)) } "." }
    }
}

fn sum_and_most(bars: &[(String, u64)]) -> (u64, u64) {
    (bars.iter().map(|(_, done)| done).sum(), bars.iter().map(|(_, done)| *done).max().unwrap_or(0))
}

fn picture(label: &str, bars: &[(String, u64)]) -> Markup {
    let (_, most) = sum_and_most(bars);
    let width = bars.len() * STEP;
    html! {
        svg.chart role="img" aria-label=(label) viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" {
            @for (x, (what, done)) in (0_usize..).step_by(STEP).zip(bars) {
                @let height = bar(*done, most.max(1));
                rect.some[*done > 0] x=(x) y=(HEIGHT - height) width="4" height=(height) { title { (what) ": " (number(*done)) } }
            }
        }
    }
}

/// What is not nothing is seen.
fn bar(done: u64, most: u64) -> u64 {
    let height = u128::from(done) * u128::from(HEIGHT - 2) / u128::from(most);
    u64::try_from(height).unwrap_or(HEIGHT).max(if done > 0 { 3 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_bar_and_the_words_have_the_sum() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let day = |day: &str, done| DayDocument { day: day.to_owned(), done };
        let days = [day("2026-10-19", 9), day("2026-10-20", 1), day("2026-11-18", 1_000)];
        let drawn = chart(&days, now).into_string();
        assert_eq!(drawn.matches("<rect").count(), 30);
        assert_eq!(drawn.matches("class=\"some\"").count(), 2, "the first of them is thirty days back: {drawn}");
        assert!(drawn.contains("1,001 in the last 30 days, at most 1,000 on a day"), "{drawn}");
        assert!(chart(&[], now).into_string().contains("0 in the last 30 days, at most 0"));
    }

    #[test]
    fn what_was_cut_off_is_said_to_be() {
        let now: Timestamp = "2026-11-18T12:10:00Z".parse().unwrap();
        let hour = |hour: &str, ending, more| EndingHour { begins: hour.parse().unwrap(), ending, more };
        let mut hours = [hour("2026-11-18T12:00:00Z", 0, false), hour("2026-11-18T13:00:00Z", 1_200, false)];
        let drawn = histogram(&hours, now).into_string();
        assert!(drawn.contains("aria-label=\"1,200 in the next 2 hours, at most 1,200 in an hour\""), "{drawn}");
        assert!(drawn.contains("2026-11-18 13:00 UTC: 1,200") && drawn.contains("in 50 min"), "{drawn}");
        hours[1].more = true;
        assert!(histogram(&hours, now).into_string().contains("\"more than 1,200 in the next"));
        assert!(histogram(&[], now).into_string().contains("0 in the next 0 hours"));
    }

    #[test]
    fn a_bar_fits_and_is_seen() {
        assert_eq!((bar(0, 1), bar(1, u64::MAX), bar(u64::MAX, u64::MAX)), (1, 3, HEIGHT - 2));
    }
}
