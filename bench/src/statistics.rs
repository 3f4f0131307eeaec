//! The few figures that stand for many: medians and percentiles.
//!
//! A median of an odd number of runs shrugs one disturbed run off, where a mean would carry it into the result.

use std::time::Duration;

/// The middle one; the mean of the two in the middle where their number is even. Zero for none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest of the times that at least `percent` of them do not exceed, in milliseconds.
pub(crate) fn percentile_ms(times: &[Duration], percent: usize) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|time| time.as_secs_f64() * 1_000.0)
}

/// The longest, in milliseconds.
pub(crate) fn longest_ms(times: &[Duration]) -> Option<f64> {
    percentile_ms(times, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_shrug_outliers_off() {
        assert!((median(&[3.0, 1_000.0, 2.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 2.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median(&[]).abs() < f64::EPSILON);
    }

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile_ms(&times, 50), Some(100.0));
        assert_eq!(percentile_ms(&times, 99), Some(198.0));
        assert_eq!(longest_ms(&times), Some(200.0));
        assert_eq!(percentile_ms(&times[..1], 99), Some(1.0));
        assert_eq!(percentile_ms(&[], 99), None);
    }
}
