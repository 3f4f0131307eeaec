//! A key as its callers see it: a token that only grows, a version, a value, and what is attached.

use crate::linear::Model;
use crate::names::ATTACHMENTS;

/// What is attached to a key, under each name.
pub(crate) type Attached = [Option<i64>; ATTACHMENTS.len()];

/// What is to be true of one key.
#[derive(Debug)]
pub(crate) struct KeyModel;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KeyState {
    /// The last fencing token that anybody was told.
    token: u64,
    version: u64,
    value: Option<i64>,
    attached: Attached,
}

/// A call with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOp {
    /// A lease was granted.
    Grant {
        token: u64,
        version: u64,
    },
    /// Anybody reads.
    Read(Option<(u64, i64)>),
    /// The holder reads.
    ReadHeld {
        token: u64,
        found: Option<(u64, i64)>,
    },
    /// The holder writes, or removes; the version that was answered, where one was.
    Write {
        token: u64,
        expects: Option<u64>,
        value: Option<i64>,
        version: Option<u64>,
    },
    /// The holder attaches something, or takes it away.
    Attach {
        token: u64,
        slot: usize,
        value: Option<i64>,
    },
    /// The holder is told that there is nothing to take away.
    NotAttached {
        token: u64,
        slot: usize,
    },
    /// What a transaction staged comes true: state, where there is any, and an attachment.
    Publish {
        token: u64,
        value: Option<i64>,
        attached: Option<(usize, Option<i64>)>,
    },
    /// Anybody reads what is attached, under one name or all of them.
    ReadAttached {
        slot: usize,
        found: Option<i64>,
    },
    ListAttached(Attached),
    /// A holder is told that another came after him.
    Fenced {
        given: u64,
        found: u64,
    },
    /// Somebody is told that the version is another.
    VersionIs(u64),
    /// Somebody is told that there is state already.
    Exists,
    /// What is known of the key.
    Described(Option<Described>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) exists: bool,
    pub(crate) attachments: usize,
    pub(crate) version: u64,
    pub(crate) token: u64,
}

impl KeyState {
    fn is_empty(self) -> bool {
        self.value.is_none() && self.attached == Attached::default()
    }

    fn attach(mut self, slot: usize, value: Option<i64>) -> Self {
        self.attached[slot] = value;
        self
    }

    /// The record of a key with nothing in it goes after a while, and its versions begin anew.
    fn renewed(self, version: u64) -> Option<Self> {
        if self.version == version {
            Some(self)
        } else {
            (self.is_empty() && version == 0).then_some(Self { version, ..self })
        }
    }

    fn found(self) -> Option<(u64, i64)> {
        self.value.map(|value| (self.version, value))
    }
}

impl Model for KeyModel {
    type State = KeyState;
    type Op = KeyOp;

    fn step(state: &KeyState, op: &KeyOp) -> Option<KeyState> {
        let state = *state;
        match *op {
            KeyOp::Grant { token, version } => {
                let state = state.renewed(version).filter(|_| token > state.token)?;
                Some(KeyState { token, ..state })
            }
            KeyOp::Read(found) => (state.found() == found).then_some(state),
            KeyOp::ReadHeld { token, found } => (state.token == token && state.found() == found).then_some(state),
            KeyOp::Write { token, expects, value, version } => {
                let before = expects.or_else(|| version.map(|version| version.wrapping_sub(1)));
                let state = before.map_or(Some(state), |before| state.renewed(before))?;
                let next = state.version + 1;
                let fits = state.token == token && version.is_none_or(|version| version == next);
                // Whoever removes a key removes what is attached.
                let attached = value.map_or(Attached::default(), |_| state.attached);
                fits.then_some(KeyState { version: next, value, attached, ..state })
            }
            KeyOp::Attach { token, slot, value } => {
                let attached = KeyState { version: state.version + 1, ..state }.attach(slot, value);
                (state.token == token).then_some(attached)
            }
            KeyOp::NotAttached { token, slot } => {
                (state.token == token && state.attached[slot].is_none()).then_some(state)
            }
            KeyOp::Publish { token, value, attached } => {
                let next = KeyState { version: state.version + 1, value: value.or(state.value), ..state };
                let next = attached.map_or(next, |(slot, value)| next.attach(slot, value));
                (state.token == token).then_some(next)
            }
            KeyOp::ReadAttached { slot, found } => (state.attached[slot] == found).then_some(state),
            KeyOp::ListAttached(found) => (state.attached == found).then_some(state),
            // Of leases that nobody was told of, this may be the first word.
            KeyOp::Fenced { given, found } => {
                (found > given && found >= state.token).then_some(KeyState { token: found, ..state })
            }
            KeyOp::VersionIs(version) => state.renewed(version),
            KeyOp::Exists => state.value.is_some().then_some(state),
            KeyOp::Described(None) => state.is_empty().then_some(state),
            KeyOp::Described(Some(Described { exists, attachments, version, token })) => {
                let are_all = attachments == state.attached.iter().flatten().count();
                let fits = exists == state.value.is_some() && are_all;
                let state = state.renewed(version).filter(|_| fits)?;
                // An empty record may have been made anew, without a token.
                (token >= state.token || state.is_empty())
                    .then_some(KeyState { token: token.max(state.token), ..state })
            }
        }
    }

    fn is_dead(state: &KeyState, op: &KeyOp) -> bool {
        match op {
            KeyOp::Write { token, .. } | KeyOp::Attach { token, .. } | KeyOp::Publish { token, .. } => {
                state.token > *token
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::History;

    fn write(token: u64, value: i64, version: u64) -> KeyOp {
        KeyOp::Write { token, expects: None, value: Some(value), version: Some(version) }
    }

    fn answered(ops: &[KeyOp]) -> bool {
        let mut history = History::<KeyModel>::default();
        ops.iter().all(|op| {
            let call = history.begin();
            history.answer(call, *op).is_ok()
        })
    }

    #[test]
    fn tokens_grow_and_only_the_last_of_them_writes() {
        let (first, second) = (KeyOp::Grant { token: 5, version: 0 }, KeyOp::Grant { token: 6, version: 0 });
        assert!(answered(&[first, second, write(6, 1, 1)]));
        assert!(!answered(&[second, first]));
        assert!(!answered(&[first, second, write(5, 1, 1)]), "whoever has been followed writes nothing");
    }

    #[test]
    fn no_write_is_lost_and_none_counts_twice() {
        let grant = KeyOp::Grant { token: 5, version: 0 };
        let (one, two) = (write(5, 10, 1), write(5, 20, 2));
        assert!(answered(&[grant, one, two, KeyOp::Read(Some((2, 20)))]));
        assert!(!answered(&[grant, one, two, KeyOp::Read(Some((1, 10)))]));
        assert!(!answered(&[grant, one, write(5, 20, 3)]));
        assert!(!answered(&[grant, one, KeyOp::Read(None)]));
    }

    #[test]
    fn what_is_attached_counts_as_a_version_and_goes_with_the_key() {
        let grant = KeyOp::Grant { token: 5, version: 0 };
        let attach = KeyOp::Attach { token: 5, slot: 1, value: Some(10) };
        let list = KeyOp::ListAttached([None, Some(10)]);
        let removed = KeyOp::Write { token: 5, expects: Some(1), value: None, version: Some(2) };
        assert!(answered(&[grant, attach, list, removed, KeyOp::ListAttached([None; 2])]));
        assert!(!answered(&[grant, attach, KeyOp::ReadAttached { slot: 1, found: None }]));
        assert!(!answered(&[grant, attach, KeyOp::Grant { token: 9, version: 0 }]), "the record is not empty");
        let publish = KeyOp::Publish { token: 5, value: None, attached: Some((1, None)) };
        assert!(answered(&[grant, attach, publish, KeyOp::NotAttached { token: 5, slot: 1 }]));
        assert!(!answered(&[grant, attach, publish, list]));
    }

    #[test]
    fn versions_begin_anew_only_without_state() {
        let grant = KeyOp::Grant { token: 5, version: 0 };
        let removed = KeyOp::Write { token: 5, expects: Some(1), value: None, version: Some(2) };
        let later = KeyOp::Grant { token: 9, version: 0 };
        assert!(answered(&[grant, write(5, 10, 1), removed, later, write(9, 1, 1)]));
        assert!(!answered(&[grant, write(5, 10, 1), later]));
    }
}
