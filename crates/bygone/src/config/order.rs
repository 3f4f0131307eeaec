//! `after`: the order that policies ask for among themselves.
//!
//! It is judged for the file as a whole: a name must be that of another
//! policy, and no policy may wait for itself, however long the way round.

use std::collections::BTreeMap;

use miette::SourceSpan;

use super::error::{Code, Findings, Problem};
use super::names::{distinct, filled};
use super::policy::RawPolicy;
use super::suggest::nearest;
use super::values::{Located, Text};

/// That a policy waits for another one.
struct Wait {
    /// The other policy.
    on: usize,
    /// Where it is named.
    span: SourceSpan,
}

/// What is known of a policy while circles are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    OnPath,
    Done,
}

/// The names of one `after`. Whose they are is judged by [`check`].
pub(super) fn names(list: Located<Vec<Text>>, findings: &mut Findings) -> Option<Vec<String>> {
    let texts = filled("after", list, findings)?;
    distinct("after", texts.iter().map(|text| (text.value.as_str(), text.span)), findings)?;
    Some(texts.into_iter().map(|text| text.value).collect())
}

/// Reports every name in `after` that no other policy has, and every circle.
///
/// Where not all policies are known, a name may be that of one of the others.
pub(super) fn check(policies: &[RawPolicy], all_known: bool, findings: &mut Findings) {
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, policy) in policies.iter().enumerate() {
        if let Some(name) = &policy.name {
            by_name.entry(&name.value).or_insert(index);
        }
    }
    // A name that was refused is reported already, and may be the one meant.
    let all_named = all_known && policies.iter().all(|policy| policy.name.is_some());
    let mut waits: Vec<Vec<Wait>> = Vec::new();
    for policy in policies {
        let own = policy.name.as_ref();
        let mut known = Vec::new();
        for text in policy.after.iter().flat_map(|after| &after.value) {
            if own.is_some_and(|own| own.value == text.value) {
                findings.add(text.span, waits_for_itself());
            } else if let Some(on) = by_name.get(text.value.as_str()) {
                known.push(Wait { on: *on, span: text.span });
            } else if all_named {
                findings.add(text.span, unknown(text, own, policies));
            }
        }
        waits.push(known);
    }
    circles(policies, &waits, findings);
}

fn waits_for_itself() -> Problem {
    Problem::new(Code::CircularOrder, "a policy cannot run after itself")
        .label("its own name")
        .help("name another policy of this file, or remove it")
}

fn unknown(text: &Text, own: Option<&Text>, policies: &[RawPolicy]) -> Problem {
    // As written: what was filled in is not shown.
    let names = policies.iter().filter_map(|policy| policy.name.as_ref());
    let others = names.map(|name| name.written.as_str()).filter(|name| own.is_none_or(|own| own.written != *name));
    let label = match nearest(&text.value, others) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a policy of this file".to_owned(),
    };
    Problem::new(Code::MissingPolicy, format!("there is no policy {:?}", text.written))
        .label(label)
        .help("name another policy of this file, or remove it")
}

/// Walks from policy to policy and reports where a walk comes back to itself.
///
/// The path is a list and not a recursion, and is left once a circle was
/// found: neither the stack nor the report grows with what a file may hold.
fn circles(policies: &[RawPolicy], waits: &[Vec<Wait>], findings: &mut Findings) {
    let mut seen = vec![Seen::Not; waits.len()];
    for start in 0..waits.len() {
        let mut path: Vec<(usize, std::slice::Iter<'_, Wait>)> = Vec::new();
        let mut next = Some(start).filter(|start| seen[*start] == Seen::Not);
        loop {
            if let Some(policy) = next.take() {
                seen[policy] = Seen::OnPath;
                path.push((policy, waits[policy].iter()));
            }
            let Some((policy, rest)) = path.last_mut() else {
                break;
            };
            match rest.next() {
                None => {
                    seen[*policy] = Seen::Done;
                    path.pop();
                }
                Some(wait) if seen[wait.on] == Seen::Not => next = Some(wait.on),
                Some(wait) if seen[wait.on] == Seen::OnPath => {
                    let circle = path.iter().map(|(policy, _)| *policy).skip_while(|policy| *policy != wait.on);
                    let circle: Vec<usize> = circle.chain([wait.on]).collect();
                    let span = last_said(&circle, waits, findings).unwrap_or(wait.span);
                    findings.add(span, circular(&circle, policies));
                    path.drain(..).for_each(|(policy, _)| seen[policy] = Seen::Done);
                }
                Some(_) => {}
            }
        }
    }
}

/// Where the file itself, and not a pack, last says a part of the circle: only
/// there can it be broken.
fn last_said(circle: &[usize], waits: &[Vec<Wait>], findings: &Findings) -> Option<SourceSpan> {
    let said = circle.windows(2).filter_map(|pair| waits[pair[0]].iter().find(|wait| wait.on == pair[1]));
    said.map(|wait| wait.span).rfind(|span| !findings.is_of_pack(*span))
}

fn circular(circle: &[usize], policies: &[RawPolicy]) -> Problem {
    let names = circle.iter().filter_map(|policy| policies[*policy].name.as_ref());
    let names: Vec<String> = names.map(|name| format!("{:?}", name.written)).collect();
    Problem::new(Code::CircularOrder, format!("`after` goes round in a circle: {}", names.join(" after ")))
        .label("closes the circle")
        .help("remove one of these names from its `after`")
}
