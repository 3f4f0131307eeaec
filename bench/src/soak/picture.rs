//! A run over time in one picture: what the daemon takes, how late it is, and what happened to it.

use std::time::Duration;

use super::fault::Disturbance;
use super::record::Seen;
use crate::plot::{Axis, Line, Plot};

/// More points than this say nothing more at the width of a page.
const POINTS_MAX: usize = 300;
/// How high a fault stands: beside what is measured, and in no unit of it.
const FAULT_HEIGHT: f64 = 5.0;

/// The picture of a run.
pub(super) fn picture(seen: &Seen) -> Plot {
    let title = "bygone serve beside writers and faults".to_owned();
    let lines = vec![
        Line { name: "memory, MiB".to_owned(), points: of_lives(seen, |memory_kib, _| memory_kib / 1_024.0) },
        Line { name: "file handles".to_owned(), points: of_lives(seen, |_, handles| handles) },
        Line { name: "largest lag, s".to_owned(), points: lags(seen) },
        Line { name: "faults".to_owned(), points: faults(&seen.disturbances) },
    ];
    Plot { title, x: Axis::linear("minutes"), y: Axis::linear("MiB, handles, seconds"), lines }
}

fn minutes(at: Duration) -> f64 {
    at.as_secs_f64() / 60.0
}

/// A line that goes down to zero where one daemon ends and the next begins.
fn of_lives(seen: &Seen, value: impl Fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for life in seen.samples.chunk_by(|one, next| one.life == next.life) {
        let ends = [life.first(), life.last()].map(|sample| sample.map_or(0.0, |sample| minutes(sample.at)));
        let share = (POINTS_MAX * life.len()).div_ceil(seen.samples.len());
        let measured = life.iter().map(|sample| {
            let [memory_kib, handles] = [sample.memory_kib, sample.handles].map(super::verdict::amount);
            (minutes(sample.at), value(memory_kib, handles))
        });
        points.push((ends[0], 0.0));
        points.extend(thinned(measured.collect(), share));
        points.push((ends[1], 0.0));
    }
    points
}

/// The part that is furthest behind, at each time.
fn lags(seen: &Seen) -> Vec<(f64, f64)> {
    let points = seen.lags.iter().map(|lag| (minutes(lag.at), lag.oldest.as_secs_f64())).collect();
    thinned(points, POINTS_MAX)
}

/// A tooth for each fault, as wide as it lasted.
fn faults(disturbances: &[Disturbance]) -> Vec<(f64, f64)> {
    let teeth = disturbances.iter().flat_map(|disturbance| {
        let (from, to) = (minutes(disturbance.from), minutes(disturbance.to.max(disturbance.from)));
        [(from, 0.0), (from, FAULT_HEIGHT), (to, FAULT_HEIGHT), (to, 0.0)]
    });
    std::iter::once((0.0, 0.0)).chain(teeth).collect()
}

/// As many points at most, each the highest of its neighbours: what stood out still does.
fn thinned(points: Vec<(f64, f64)>, most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points;
    }
    let highest = |group: &[(f64, f64)]| group.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1));
    points.chunks(points.len().div_ceil(most.max(1))).filter_map(highest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fault::Fault;
    use super::super::part::Part;
    use super::super::record::{Lag, Sample};
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn seen() -> Seen {
        let sample = |at, life| Sample { at: secs(at), life, memory_kib: 20_480, handles: 30 };
        let lag = |at| Lag { at: secs(at), part: Part::Codes, oldest: secs(7), overdue: 1 };
        Seen {
            samples: (0..120).map(|at| sample(at, 1 + usize::from(at > 60))).collect(),
            lags: (0..120).map(lag).collect(),
            disturbances: vec![Disturbance { fault: Fault::Kill, from: secs(60), to: secs(61) }],
            ..Seen::default()
        }
    }

    #[test]
    fn a_run_is_drawn_with_all_that_it_shows() {
        let plot = picture(&seen());
        let svg = plot.svg().unwrap();
        for word in ["memory, MiB", "file handles", "largest lag, s", "faults", "minutes"] {
            assert!(svg.contains(word), "{word}");
        }
        let memory = &plot.lines[0].points;
        assert!(memory.contains(&(1.0, 0.0)), "down at the restart: {memory:?}");
        assert!((memory[1].1 - 20.0).abs() < f64::EPSILON);
    }

    #[test]
    fn what_stands_out_still_does_when_there_are_fewer_points() {
        let mut points: Vec<(f64, f64)> = (0..1_000).map(|at| (f64::from(at), 1.0)).collect();
        points[617].1 = 99.0;
        let fewer = thinned(points, 50);
        assert!(fewer.len() <= 50 && fewer.contains(&(617.0, 99.0)));
    }
}
