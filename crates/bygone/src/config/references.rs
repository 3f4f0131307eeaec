//! `with` and `unless_referenced_by`: the columns of other tables that point
//! at a policy's rows.

use miette::SourceSpan;

use super::error::{Code, Findings, Problem};
use super::model::{Chain, ColumnRef};
use super::names::{distinct, filled};
use super::values::{Located, Text};

/// What joins the links of a chain.
const ARROW: &str = "->";

/// The chains that were meant, in the order written.
pub(super) fn chains(key: &str, list: Located<Vec<Text>>, findings: &mut Findings) -> Option<Vec<Chain>> {
    let texts = filled(key, list, findings)?;
    let chains: Vec<Option<Chain>> = texts.iter().map(|text| chain(key, text, findings)).collect();
    let chains: Vec<Chain> = chains.into_iter().collect::<Option<_>>()?;
    let names = |chain: &Chain| -> Vec<(String, String)> {
        chain.links.iter().map(|link| (link.table.clone(), link.column.clone())).collect()
    };
    distinct(key, chains.iter().map(|chain| (names(chain), chain.span)), findings)?;
    Some(chains)
}

/// The columns that were meant, each pointing at the policy's row by itself.
pub(super) fn columns(key: &str, list: Located<Vec<Text>>, findings: &mut Findings) -> Option<Vec<ColumnRef>> {
    let texts = filled(key, list, findings)?;
    let columns: Vec<Option<ColumnRef>> = texts.iter().map(|text| direct(key, text, findings)).collect();
    let columns: Vec<ColumnRef> = columns.into_iter().collect::<Option<_>>()?;
    distinct(key, columns.iter().map(|column| ((&column.table, &column.column), column.span)), findings)?;
    Some(columns)
}

fn chain(key: &str, text: &Text, findings: &mut Findings) -> Option<Chain> {
    let mut links = Vec::new();
    let mut start = 0;
    for part in text.value.split(ARROW) {
        let name = part.trim();
        let at = start + (part.len() - part.trim_start().len());
        start += part.len() + ARROW.len();
        // The whole is shown where it has but one part, and where a part is
        // missing and so has no place.
        let whole = name.len() == text.value.len() || name.is_empty();
        let span = if whole { text.span } else { text.place_of(at..at + name.len()) };
        links.push(column_ref(key, name, span, findings));
    }
    let links = links.into_iter().collect::<Option<_>>()?;
    Some(Chain { links, span: text.span })
}

fn direct(key: &str, text: &Text, findings: &mut Findings) -> Option<ColumnRef> {
    if text.value.contains(ARROW) {
        let problem = Problem::new(Code::BadValue, format!("`{key}` takes no chains"))
            .label("a chain")
            .help("name the column that points at the policy's own rows: \"table.column\"");
        findings.add(text.span, problem);
        return None;
    }
    column_ref(key, text.value.trim(), text.span, findings)
}

/// Reads `table.column`. A table's name may hold dots, a column's may not.
fn column_ref(key: &str, name: &str, span: SourceSpan, findings: &mut Findings) -> Option<ColumnRef> {
    // Blanks at the edge of a name are slips: "a. b", or a lost arrow.
    let good = |part: &str| !part.is_empty() && part.trim() == part && !part.contains(char::is_control);
    match name.rsplit_once('.') {
        Some((table, column)) if good(table) && good(column) => {
            Some(ColumnRef { table: table.to_owned(), column: column.to_owned(), span })
        }
        _ => {
            let problem = Problem::new(Code::BadValue, format!("`{key}` needs a table and a column: \"table.column\""))
                .label("not a table and a column")
                .help("name the table, a dot, and its column that points at the other table: \"logins.user_id\"");
            findings.add(span, problem);
            None
        }
    }
}
