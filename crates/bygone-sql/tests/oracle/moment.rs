//! Times, by a calendar and zones of the oracle's own: it must not read a clock's change out of the same table as bygone.

/// What a stored time says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// An instant, in microseconds since 1970.
    At(i64),
    /// What the clocks of a zone show, in microseconds as if they showed UTC.
    Shown(i64),
    /// A whole day, in days since 1970, in a zone.
    Day(i64),
    /// Never.
    Never,
    /// Nothing that could be read.
    Unreadable,
}

/// When a deadline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    At(i64),
    Never,
}

/// Some zones, from 2025 to 2026.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    Kathmandu,
    Stockholm,
    NewYork,
}

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const HOUR: i64 = 3_600 * SECOND;
pub(crate) const DAY: i64 = 24 * HOUR;

impl Zone {
    pub(crate) const ALL: [Self; 4] = [Self::Utc, Self::Kathmandu, Self::Stockholm, Self::NewYork];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utc => "UTC",
            Self::Kathmandu => "Asia/Kathmandu",
            Self::Stockholm => "Europe/Stockholm",
            Self::NewYork => "America/New_York",
        }
    }

    /// The offset in winter.
    fn winter(self) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Kathmandu => 5 * HOUR + 45 * 60 * SECOND,
            Self::Stockholm => HOUR,
            Self::NewYork => -5 * HOUR,
        }
    }

    /// From when to when clocks are an hour ahead, in seconds since 1970.
    fn summers(self) -> &'static [(i64, i64)] {
        match self {
            Self::Utc | Self::Kathmandu => &[],
            // The last Sundays of March and October, at 01:00 UTC.
            Self::Stockholm => &[(1_743_296_400, 1_761_440_400), (1_774_746_000, 1_792_890_000)],
            // The second Sunday of March and the first of November, at two o'clock.
            Self::NewYork => &[(1_741_503_600, 1_762_063_200), (1_772_953_200, 1_793_512_800)],
        }
    }

    /// How far its clocks are ahead of UTC.
    pub(crate) fn offset(self, at: i64) -> i64 {
        let summer = self.summers().iter().any(|(from, to)| (from * SECOND..to * SECOND).contains(&at));
        self.winter() + if summer { HOUR } else { 0 }
    }

    /// The latest instant at which its clocks show this.
    pub(crate) fn latest(self, shown: i64) -> i64 {
        let winter = shown - self.winter();
        let summer = winter - HOUR;
        let is_right = |at: &i64| at + self.offset(*at) == shown;
        // What is left out in spring is shown at no instant; then it is as late as it can be.
        [winter, summer].into_iter().find(is_right).unwrap_or(winter)
    }

    /// Whether an instant is so near to a change of the clocks that a column without a zone cannot be told from its order
    /// alone: what is due then may stay for that hour.
    pub(crate) fn is_changing(self, at: i64) -> bool {
        let near = |(from, to): &(i64, i64)| {
            (from * SECOND - HOUR..=from * SECOND + HOUR).contains(&at)
                || (to * SECOND - HOUR..to * SECOND).contains(&at)
        };
        self.summers().iter().any(near)
    }
}

impl Moment {
    /// When it is, as read in a zone; `None` for what cannot be read.
    pub(crate) fn when(self, zone: Zone) -> Option<When> {
        match self {
            Self::At(at) => Some(When::At(at)),
            Self::Shown(shown) => Some(When::At(zone.latest(shown))),
            // A day lasts to its end.
            Self::Day(day) => Some(When::At(zone.latest((day + 1) * DAY))),
            Self::Never => Some(When::Never),
            Self::Unreadable => None,
        }
    }
}

/// `2026-11-15`, of days since 1970.
pub(crate) fn date(day: i64) -> String {
    // Years that begin in March, so that the odd day is the last one; eras of 400 of them are alike.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, january) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", era * 400 + year + january)
}

/// `2026-11-15 12:00:00.000001`, with so many digits behind the point.
pub(crate) fn date_time(at: i64, between: char, digits: usize) -> String {
    let (day, of_day) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let (seconds, micros) = (of_day / SECOND, of_day % SECOND);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = format!("{micros:06}000");
    let point = if digits > 0 { "." } else { "" };
    format!("{}{between}{time}{point}{}", date(day), &fraction[..digits])
}

#[test]
fn the_calendar_is_right() {
    assert_eq!(date(0), "1970-01-01");
    assert_eq!(date(20_772), "2026-11-15");
    assert_eq!(date(19_782), "2024-02-29");
    assert_eq!(date_time(1_794_744_000_000_001, ' ', 6), "2026-11-15 12:00:00.000001");
    assert_eq!(date_time(-1, 'T', 3), "1969-12-31T23:59:59.999");
}

#[test]
fn the_doubled_hour_means_its_second_pass() {
    // 2026-10-25 02:30 in Stockholm, which is 01:30 UTC for the second time.
    let shown = 1_792_890_000 * SECOND + HOUR + HOUR / 2;
    assert_eq!(Zone::Stockholm.latest(shown), 1_792_890_000 * SECOND + HOUR / 2);
    assert_eq!(Zone::Stockholm.offset(1_792_890_000 * SECOND - 1), 2 * HOUR);
    assert_eq!(Zone::NewYork.offset(1_794_744_000 * SECOND), -5 * HOUR);
}
