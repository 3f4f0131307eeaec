//! Line plots as SVG: what a column of figures says, seen at once.
//!
//! The words are left as text to whoever shows the file, so no font is needed to draw one. The background is left to the page,
//! and the colours are those that can be told from a light one as well as from a dark one. Equal plots make equal files.

use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::failure::Failure;

const SIZE: (u32, u32) = (760, 420);
/// Above the plot: the title and the legend.
const HEAD: u32 = 62;
const MARGIN: i32 = 14;
const FONT: &str = "sans-serif";
const FONT_SIZE: i32 = 14;
const TITLE_SIZE: i32 = 17;
/// How wide a letter is, about: the legend only has to keep its words apart.
const LETTER: f64 = 7.6;
/// Legible on white and on black.
const INK: RGBColor = RGBColor(0x7d, 0x85, 0x90);
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x3b, 0x8b, 0xd4),
    RGBColor(0xd9, 0x7f, 0x24),
    RGBColor(0x3a, 0xa0, 0x5c),
    RGBColor(0xd0, 0x55, 0x85),
    RGBColor(0x8e, 0x74, 0xd6),
    RGBColor(0xa8, 0x8d, 0x1f),
];
/// Marks on an axis, about.
const TICKS: f64 = 6.0;
/// Lines with more points than this have no dots.
const DOTS_MAX: usize = 24;

/// A plot of several lines over one pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

/// What is measured along a side.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// With its unit: `memory, MiB`.
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero: what looks twice as large is.
    Linear,
    /// By powers of ten. All values must be greater than zero.
    Log,
}

/// One line, with its name in the legend. Its points are joined in the order given.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Axis {
    /// An axis from zero.
    pub(crate) fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }

    /// An axis by powers of ten.
    pub(crate) fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log }
    }
}

impl Plot {
    /// Writes it to a file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        fs::write(path, self.svg()?).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }

    /// The text of the file.
    pub(crate) fn svg(&self) -> Result<String, Failure> {
        let ruler = |scale, of: fn(&(f64, f64)) -> f64| {
            Ruler::over(scale, self.lines.iter().flat_map(|line| line.points.iter().map(of)))
                .map_err(|why| Failure::from(format!("the plot {:?} cannot be drawn: {why}", self.title)))
        };
        let (x, y) = (ruler(self.x.scale, |point| point.0)?, ruler(self.y.scale, |point| point.1)?);
        let mut text = String::new();
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let (head, body) = root.split_vertically(HEAD);
        self.draw_head(&head)?;
        self.draw_body(&body, x, y)?;
        root.present()?;
        drop((head, body, root));
        text.push('\n');
        Ok(text)
    }

    fn draw_head(&self, area: &Area<'_>) -> Result<(), Failure> {
        let title = (FONT, TITLE_SIZE).into_font().style(FontStyle::Bold).color(&INK);
        area.draw(&Text::new(self.title.clone(), (MARGIN, MARGIN), title))?;
        let (mut left, top) = (f64::from(MARGIN), MARGIN + 26);
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let (from, middle) = (whole(left), top + FONT_SIZE / 2);
            area.draw(&PathElement::new([(from, middle), (from + 22, middle)], colour.stroke_width(3)))?;
            area.draw(&Text::new(line.name.clone(), (from + 28, top), (FONT, FONT_SIZE).into_font().color(&INK)))?;
            let letters = u32::try_from(line.name.chars().count())?;
            left += 28.0 + f64::from(letters) * LETTER + 22.0;
        }
        Ok(())
    }

    fn draw_body(&self, area: &Area<'_>, x: Ruler, y: Ruler) -> Result<(), Failure> {
        let words = (FONT, FONT_SIZE).into_font().color(&INK);
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_top(4)
            .margin_right(28)
            .x_label_area_size(46)
            .y_label_area_size(66)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .axis_desc_style(words.clone())
            .label_style(words)
            .axis_style(INK.mix(0.8))
            .bold_line_style(INK.mix(0.22))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            chart.draw_series([PathElement::new(line.points.clone(), colour.stroke_width(2))])?;
            if line.points.len() <= DOTS_MAX {
                chart.draw_series(line.points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
            }
        }
        Ok(())
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// An axis with its ends: both are marks, and all values lie between them.
#[derive(Clone, Debug, PartialEq)]
struct Ruler {
    scale: Scale,
    marks: Vec<f64>,
}

impl Ruler {
    fn over(scale: Scale, values: impl Iterator<Item = f64>) -> Result<Self, String> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            if !value.is_finite() || (scale == Scale::Log && value <= 0.0) {
                return Err(format!("{value} has no place on its axis"));
            }
            (least, most) = (least.min(value), most.max(value));
        }
        if least > most {
            return Err("it has no points".to_owned());
        }
        let marks = match scale {
            Scale::Linear => steps(least.min(0.0), most.max(0.0)),
            Scale::Log => decades(least, most),
        };
        Ok(Self { scale, marks })
    }

    fn ends(&self) -> (f64, f64) {
        (self.marks[0], self.marks[self.marks.len() - 1])
    }

    /// Where a value lies, in what the scale counts.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }
}

/// Round marks, from the last one below to the first one above.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let rough = ((high - low) / TICKS).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = if high > low { step.unwrap_or(power) } else { 1.0 };
    let (first, last) = (whole((low / step).floor()), whole((high / step).ceil()).max(1));
    (first..=last).map(|at| f64::from(at) * step).collect()
}

/// Powers of ten, from the last one below to the first one above.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let first = whole(low.log10().floor());
    let last = whole(high.log10().ceil()).max(first + 1);
    (first..=last).map(|power| 10_f64.powi(power)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "places on a page and counts of marks are small")]
fn whole(value: f64) -> i32 {
    value.round() as i32
}

/// `250`, `10 k`, `1.5 M`.
fn short(value: f64) -> String {
    let units = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (by, unit) = units.into_iter().find(|(by, _)| value.abs() >= *by).unwrap_or((1.0, ""));
    // Six digits are more than any mark has, and fewer than what binary fractions leave behind.
    let text = format!("{:.6}", value / by);
    let digits = text.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{unit}")
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let (low, high) = self.ends();
        let share = (self.place(*value) - self.place(low)) / (self.place(high) - self.place(low));
        from + whole(f64::from(to - from) * share)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        let (low, high) = self.ends();
        low..high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, value: &f64) -> String {
        short(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: Axis, y: Axis, points: &[(f64, f64)]) -> Plot {
        let line = |name: &str, factor: f64| Line {
            name: name.to_owned(),
            points: points.iter().map(|(x, y)| (*x, y * factor)).collect(),
        };
        Plot { title: "Time & backlog".to_owned(), x, y, lines: vec![line("ours", 1.0), line("theirs", 2.0)] }
    }

    /// The numbers of all `<circle cx cy>`, in the order in which they were drawn.
    fn dots(svg: &str) -> Vec<(i32, i32)> {
        let number = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!("{name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse::<i32>().unwrap()
        };
        svg.split("<circle ").skip(1).map(|tag| (number(tag, "cx"), number(tag, "cy"))).collect()
    }

    #[test]
    fn a_plot_says_what_it_shows_and_its_points_lie_where_their_values_are() {
        let svg = plot(Axis::linear("minutes"), Axis::linear("MiB"), &[(0.0, 10.0), (30.0, 20.0), (60.0, 50.0)]).svg();
        let svg = svg.unwrap();
        for word in ["Time &amp; backlog", "ours", "theirs", "minutes", "MiB", "100"] {
            assert!(svg.contains(&format!("\n{word}\n")), "{word} in {svg}");
        }
        let dots = dots(&svg);
        assert_eq!(dots.len(), 6);
        // 30 is half way from 0 to 60, and the second line is twice as high.
        assert!((dots[1].0 * 2 - dots[0].0 - dots[2].0).abs() <= 1, "{dots:?}");
        assert!((dots[0].1 - dots[1].1 - (dots[3].1 - dots[4].1) / 2).abs() <= 1, "{dots:?}");
        assert!(dots[2].1 < dots[0].1, "more is higher up: {dots:?}");
    }

    #[test]
    fn each_power_of_ten_is_as_far_on_a_logarithmic_axis() {
        let points = [(1e4, 1.0), (1e5, 10.0), (1e6, 100.0)];
        let dots = dots(&plot(Axis::log("rows"), Axis::log("s"), &points).svg().unwrap());
        assert!((dots[1].0 * 2 - dots[0].0 - dots[2].0).abs() <= 1, "{dots:?}");
        assert!((dots[1].1 * 2 - dots[0].1 - dots[2].1).abs() <= 1, "{dots:?}");
    }

    #[test]
    fn marks_are_round_and_hold_all_values() {
        assert_eq!(steps(0.0, 47.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(steps(-3.0, 8.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(steps(0.0, 0.0), [0.0, 1.0]);
        assert_eq!(decades(20.0, 9_000.0), [10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(decades(10.0, 10.0), [10.0, 100.0]);
        let labels = [0.0, 0.3, 250.0, 10_000.0, 1_500_000.0].map(short);
        assert_eq!(labels, ["0", "0.3", "250", "10 k", "1.5 M"]);
    }

    #[test]
    fn what_has_no_place_is_an_error_and_not_a_wrong_picture() {
        let refused = |y, points: &[(f64, f64)]| plot(Axis::linear("x"), y, points).svg().unwrap_err().to_string();
        assert!(refused(Axis::log("y"), &[(1.0, 0.0)]).contains("0 has no place"));
        assert!(refused(Axis::linear("y"), &[(1.0, f64::NAN)]).contains("NaN has no place"));
        assert!(refused(Axis::linear("y"), &[]).contains("no points"));
    }
}
