//! The file's text as diagnostics may show it: without passwords and tokens.
//!
//! A diagnostic quotes the line it speaks of, and diagnostics end up in CI
//! logs and tickets. The masked text has the same length in bytes as the file,
//! so that spans fit both.

use std::ops::Range;

use super::url::password_ranges;

/// The keys that somebody may write a token under by mistake, as their names
/// begin: its hash belongs there, or nothing.
const TOKEN_KEYS: [&str; 5] = ["sha", "hash", "token", "secret", "bearer"];

/// `text` with every password in a URL, and every value that may be a token,
/// replaced by asterisks, byte for byte.
///
/// It works on the bare text, because a file that is not TOML must not leak
/// either. Where it errs it masks too much.
pub(super) fn mask(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let in_urls = urls(text).flat_map(|Url { offset, url }| {
        let shown = |range: &Range<usize>| url.get(range.clone()).is_some_and(is_placeholder);
        password_ranges(url)
            .into_iter()
            .filter(move |range| !shown(range))
            .map(move |r| offset + r.start..offset + r.end)
    });
    for range in in_urls.chain(misspelt_urls(text)).chain(tokens(text)) {
        if let Some(password) = bytes.get_mut(range) {
            password.fill(b'*');
        }
    }
    // Whole characters were replaced by ASCII, so this loses nothing.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether it only says where the password is. A default may be one itself.
fn is_placeholder(password: &str) -> bool {
    let inner = password.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['$', '}']) && !inner.contains(":-"))
}

/// A part of the text that begins with `://`.
struct Url<'t> {
    offset: usize,
    url: &'t str,
}

/// What begins at each `://`, up to the quote that closes the value.
fn urls(text: &str) -> impl Iterator<Item = Url<'_>> {
    text.match_indices("://").map(|(offset, _)| {
        let (before, url) = text.split_at(offset);
        let line = before.rsplit('\n').next().unwrap_or(before);
        let quote = line.chars().rfind(|c| matches!(c, '"' | '\''));
        let url = url.split(['\n', '\r']).next().unwrap_or(url);
        let url = match quote {
            Some(quote) => before_quote(url, quote),
            None => url,
        };
        Url { offset, url }
    })
}

/// What stands between a `:` and an `@` where no `://` is: the password of a URL with its beginning misspelt.
fn misspelt_urls(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut offset = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        offset += line.len();
        (offset - line.len(), line)
    });
    lines.filter(|(_, line)| !line.contains("://")).flat_map(|(offset, line)| {
        line.match_indices('@').filter_map(move |(at, _)| {
            let value = line.get(..at)?.rfind(['"', '\'']).map_or(0, |quote| quote + 1);
            let colon = value + line.get(value..at)?.find(':')?;
            Some(offset + colon + 1..offset + at)
        })
    })
}

/// The values of keys that stand where a token may have been pasted. A hash and a token made of 32 bytes look alike, so
/// neither is shown.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('=').filter_map(|(at, _)| {
        let (before, behind) = (text.get(..at)?, text.get(at + 1..)?);
        let key = before.trim_end_matches([' ', '\t', '"', '\'']);
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let key = key.rsplit(|c| !is_key(c)).next()?.to_ascii_lowercase();
        if !TOKEN_KEYS.iter().any(|token| key.starts_with(token)) {
            return None;
        }
        let value = behind.trim_start_matches([' ', '\t']);
        let start = text.len() - value.len();
        let (open, length) = quoted(value);
        let is_shown = value.get(open..open + length).is_some_and(is_placeholder);
        (!is_shown).then_some(start + open..start + open + length)
    })
}

/// How many quotes a value begins with, and how long what they hold is. Without quotes it ends with the line, or where the
/// next of an inline table begins; an array or a table is none.
fn quoted(value: &str) -> (usize, usize) {
    for quotes in ["\"\"\"", "'''"] {
        if let Some(inner) = value.strip_prefix(quotes) {
            return (quotes.len(), inner.find(quotes).unwrap_or(inner.len()));
        }
    }
    let line = value.split(['\n', '\r']).next().unwrap_or(value);
    match line.chars().next() {
        Some(quote @ ('"' | '\'')) => (1, before_quote(line.get(1..).unwrap_or_default(), quote).len()),
        Some('[' | '{') => (0, 0),
        _ => (0, line.find([',', '}', '#']).unwrap_or(line.len())),
    }
}

/// The part of `url` before the closing quote; `\"` does not close.
fn before_quote(url: &str, quote: char) -> &str {
    let mut escaped = false;
    let end = url.find(|c: char| {
        let closes = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        closes
    });
    end.map_or(url, |end| url.split_at(end).0)
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn what_may_be_a_token_is_masked_and_nothing_moves() {
        for (text, wanted) in [
            ("sha256 = \"hunter2\" # mine", "sha256 = \"*******\" # mine"),
            ("a = 1\nsha256='hunter2'\nb = 'c'", "a = 1\nsha256='*******'\nb = 'c'"),
            (r#"sha256 = "hun\"ter2""#, r#"sha256 = "*********""#),
            ("sha256 = \"hünter2\"", "sha256 = \"********\""),
            ("\"sha256\" = \"hunter2\"", "\"sha256\" = \"*******\""),
            ("sha256 = \"\"\"\nhunter2\"\"\"\nb = 1", "sha256 = \"\"\"********\"\"\"\nb = 1"),
            ("sha256 = \"hunter2\nb = 1", "sha256 = \"*******\nb = 1"),
            ("sha256 = hunter2\nb = 1", "sha256 = *******\nb = 1"),
            ("[{ sha256 = 7777, scope = \"read\" }]", "[{ sha256 = ****, scope = \"read\" }]"),
            ("serve.token.sha265 = 'hunter2'", "serve.token.sha265 = '*******'"),
            ("token = \"hunter2\"", "token = \"*******\""),
            ("token = [{ name = \"a\" }]", "token = [{ name = \"a\" }]"),
            ("sha256 = \"${HASH}\"", "sha256 = \"${HASH}\""),
            ("sha256 = \"${HASH:-hunter2}\"", "sha256 = \"****************\""),
            ("table = \"tokens\"\nwhere = \"a = 'b'\"", "table = \"tokens\"\nwhere = \"a = 'b'\""),
            ("sha256 =", "sha256 ="),
        ] {
            assert_eq!(mask(text), wanted);
            assert_eq!(mask(text).len(), text.len());
        }
    }

    #[test]
    fn passwords_are_masked_and_nothing_moves() {
        for (text, wanted) in [
            (
                r#"url = "postgres://ada:pass@host:5432/db" # mail me@home"#,
                r#"url = "postgres://ada:****@host:5432/db" # mail me@home"#,
            ),
            ("url = 'mysql://u:p\"w@h/db'", "url = 'mysql://u:***@h/db'"),
            (r#"url = "mysql://u:p\"w@h""#, r#"url = "mysql://u:****@h""#),
            ("url = mysql://u:pw@h", "url = mysql://u:**@h"),
            ("url = \"mysql://u:pw@h\n", "url = \"mysql://u:**@h\n"),
            ("url = \"x://u:ü@h\"", "url = \"x://u:**@h\""),
            (r#"url = "${URL:-mysql://u:pw@h/db}""#, r#"url = "${URL:-mysql://u:**@h/db}""#),
            (r#"url = "mysql://u:${PW}@h/db""#, r#"url = "mysql://u:${PW}@h/db""#),
            (r#"url = "mysql://u:${file:pw}@h/db""#, r#"url = "mysql://u:${file:pw}@h/db""#),
            (r#"url = "mysql://u:${PW:-pw}@h/db""#, r#"url = "mysql://u:*********@h/db""#),
            (
                r#"url = "postgres://h/db?user=u&password=pw&sslmode=require""#,
                r#"url = "postgres://h/db?user=u&password=**&sslmode=require""#,
            ),
            ("url = \"sqlite:a.db\"", "url = \"sqlite:a.db\""),
            ("a = 1\nurl = 'mysql:/u:pw@h/d' # me@home", "a = 1\nurl = 'mysql:*****@h/d' # me@home"),
            ("url = \"mysql//u:pw@h/d\"", "url = \"mysql//u:**@h/d\""),
            ("name = \"me@home\"", "name = \"me@home\""),
        ] {
            assert_eq!(mask(text), wanted);
            assert_eq!(mask(text).len(), text.len());
        }
    }
}
