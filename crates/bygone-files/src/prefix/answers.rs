//! What a store really said.
//!
//! The client that speaks to the stores says less than they do: of a bulk delete it passes on one error for all keys, and
//! it changes some names while it reads a listing. Both decide over what may be removed, so the answers are read here as
//! well, as they pass by.

use std::collections::HashSet;

use super::Scheme;

/// Why a bulk delete left a key where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) key: String,
    pub(super) code: String,
    pub(super) message: String,
}

/// The keys in the answer to a listing, exactly as the store wrote them.
pub(super) fn listed_keys(scheme: Scheme, body: &str) -> HashSet<String> {
    match scheme {
        Scheme::S3 => elements(body, "Contents").filter_map(|object| text(object, "Key")).collect(),
        Scheme::Azure => elements(body, "Blob").filter_map(|blob| text(blob, "Name")).collect(),
        Scheme::Google => google_names(body).unwrap_or_default(),
    }
}

/// The refusals in the answer to a bulk delete; `None` if it is no such answer.
pub(super) fn refusals(body: &str) -> Option<Vec<Refusal>> {
    if !body.contains("<DeleteResult") {
        return None;
    }
    let refusals = elements(body, "Error").filter_map(|error| {
        Some(Refusal {
            key: text(error, "Key")?,
            code: text(error, "Code").unwrap_or_default(),
            message: text(error, "Message").unwrap_or_default(),
        })
    });
    Some(refusals.collect())
}

/// The code and message of an answer that says what went wrong.
pub(super) fn complaint(body: &str) -> Option<(String, String)> {
    Some((text(body, "Code")?, text(body, "Message").unwrap_or_default()))
}

fn google_names(body: &str) -> Option<HashSet<String>> {
    let answer: serde_json::Value = serde_json::from_str(body).ok()?;
    let items = answer.get("items")?.as_array()?;
    Some(items.iter().filter_map(|item| item.get("name")?.as_str().map(str::to_owned)).collect())
}

/// What stands between `<name>` and `</name>`, again and again. Text in XML never holds a bare `<`, so that is exact.
fn elements<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let from = rest.find(&open)? + open.len();
        let to = from + rest[from..].find(&close)?;
        let element = &rest[from..to];
        rest = &rest[to + close.len()..];
        Some(element)
    })
}

/// The text of the first such element; `None` also when it holds something that is not understood.
fn text(xml: &str, name: &str) -> Option<String> {
    unescape(elements(xml, name).next()?)
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (entity, after) = rest[at + 1..].split_once(';')?;
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let s3 = "<ListBucketResult><Name>b</Name><Contents><Key> a &amp; b&#xA;&quot;</Key></Contents>\
                  <Contents><Key>/lead</Key><Size>1</Size></Contents></ListBucketResult>";
        assert_eq!(listed_keys(Scheme::S3, s3), [" a & b\n\"", "/lead"].map(String::from).into());
        let azure = "<Blobs><Blob><Name>x//y</Name><Properties/></Blob></Blobs><NextMarker />";
        assert_eq!(listed_keys(Scheme::Azure, azure), ["x//y"].map(String::from).into());
        let google = r#"{"items":[{"name":"a\"b"},{"name":"c"}]}"#;
        assert_eq!(listed_keys(Scheme::Google, google), ["a\"b", "c"].map(String::from).into());
        assert!(listed_keys(Scheme::Google, "{}").is_empty());
    }

    #[test]
    fn a_name_that_is_not_understood_is_none() {
        for text in ["&nbsp;", "&", "&#xD800;", "&#x;"] {
            assert_eq!(unescape(text), None, "{text}");
        }
        let broken = "<Contents><Key>a&nope;</Key></Contents><Contents><Key>b</Key></Contents>";
        assert_eq!(listed_keys(Scheme::S3, broken), ["b"].map(String::from).into());
    }

    #[test]
    fn every_refusal_of_a_bulk_delete_is_read() {
        let body = "<DeleteResult xmlns=\"x\"><Deleted><Key>a</Key></Deleted>\
                    <Error><Key>b&lt;</Key><Code>AccessDenied</Code><Message>no</Message></Error>\
                    <Error><Key>c</Key><Code>SlowDown</Code></Error></DeleteResult>";
        let read: Vec<_> = refusals(body).unwrap().into_iter().map(|r| (r.key, r.code, r.message)).collect();
        let expected = [("b<", "AccessDenied", "no"), ("c", "SlowDown", "")];
        assert_eq!(read, expected.map(|(k, c, m)| (k.to_owned(), c.to_owned(), m.to_owned())));
        assert_eq!(refusals("<DeleteResult/>"), Some(vec![]));
        assert_eq!(refusals("<Error><Code>InternalError</Code></Error>"), None);
    }
}
