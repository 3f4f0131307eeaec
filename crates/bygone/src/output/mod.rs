//! Where words go: data to standard output, talk to standard error.

pub(crate) mod history;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod status;
mod visible;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::{ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};
use serde::Serialize;

pub(crate) use self::visible::{in_a_line, visible};
use crate::cli::Format;

/// Whether data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes data, in which nothing of others' can give an order to a terminal.
pub(crate) fn data(text: impl AsRef<str>) {
    write(&visible(text.as_ref()));
}

/// Writes a statement for a database. Elsewhere than on a terminal it is as the database must read it.
pub(crate) fn statement(text: impl AsRef<str>) {
    let text = text.as_ref();
    if io::stdout().is_terminal() { data(text) } else { write(text) }
}

/// Writes a remark between statements, which ends with its line whatever is in it.
pub(crate) fn comment(text: impl AsRef<str>) {
    data(format!("-- {}", in_a_line(text.as_ref())));
}

/// A reader that went away (`bygone plan | head`) is no error; a disk that is full is one.
fn write(text: &str) {
    match writeln!(io::stdout().lock(), "{}", text.trim_end_matches('\n')) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            talk(format!("cannot write to standard output: {error}"));
            LOST.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
}

/// Whether some of the data did not reach standard output.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes to a person, in the same way as data.
pub(crate) fn talk(text: impl AsRef<str>) {
    show(&visible(text.as_ref()));
}

/// Shows a diagnostic, with its colours where they are wanted. What it says of others' has been made visible by it.
pub(crate) fn diagnostic(report: &miette::Report) {
    show(&format!("{report:?}"));
}

fn show(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// Writes JSON: the whole, or one line for each part.
pub(crate) fn json<T: Serialize, L: Serialize>(
    format: Format,
    whole: &T,
    lines: &[L],
) -> Result<(), serde_json::Error> {
    if format == Format::Jsonl {
        for line in lines {
            data(serde_json::to_string(line)?);
        }
    } else {
        data(serde_json::to_string_pretty(whole)?);
    }
    Ok(())
}

/// A line under the headings, and nothing else between a person and the numbers.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::new(' ', ' ', ' '))
    .header_separator(LineStyle::new('─', '─', '─', '─'))
    .content_lines(ContentLineStyle::new(' ', ' ', ' '))
    .bottom_border(LineStyle::new('─', '─', '─', '─'));

/// A table in the house's dress.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_header(headings.iter().copied());
    table
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of items, with their bytes where the source knows.
pub(crate) fn with_bytes(items: u64, bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) if items > 0 => format!("{} ({})", grouped(items), size(bytes)),
        _ => grouped(items),
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
