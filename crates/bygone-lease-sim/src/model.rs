//! A key as its callers see it: a token that only grows, a version, a value.

use crate::linear::Model;

/// What is to be true of one key.
#[derive(Debug)]
pub(crate) struct KeyModel;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KeyState {
    /// The last fencing token that anybody was told.
    token: u64,
    version: u64,
    value: Option<i64>,
}

/// A call with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOp {
    /// A lease was granted.
    Grant { token: u64, version: u64 },
    /// Anybody reads.
    Read(Option<(u64, i64)>),
    /// The holder reads.
    ReadHeld { token: u64, found: Option<(u64, i64)> },
    /// The holder writes, or removes; the version that was answered, where one was.
    Write { token: u64, expects: Option<u64>, value: Option<i64>, version: Option<u64> },
    /// A holder is told that another came after him.
    Fenced { given: u64, found: u64 },
    /// Somebody is told that the version is another.
    VersionIs(u64),
    /// Somebody is told that there is state already.
    Exists,
    /// What is known of the key.
    Described(Option<(bool, u64, u64)>),
}

impl KeyState {
    /// The record of a key without state goes after a while, and its versions begin anew.
    fn renewed(self, version: u64) -> Option<Self> {
        if self.version == version {
            Some(self)
        } else {
            (self.value.is_none() && version == 0).then_some(Self { version, ..self })
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
                fits.then_some(KeyState { version: next, value, ..state })
            }
            // Of leases that nobody was told of, this may be the first word.
            KeyOp::Fenced { given, found } => {
                (found > given && found >= state.token).then_some(KeyState { token: found, ..state })
            }
            KeyOp::VersionIs(version) => state.renewed(version),
            KeyOp::Exists => state.value.is_some().then_some(state),
            KeyOp::Described(None) => state.value.is_none().then_some(state),
            KeyOp::Described(Some((exists, version, token))) => {
                let state = state.renewed(version).filter(|_| exists == state.value.is_some())?;
                // An empty record may have been made anew, without a token.
                (token >= state.token || !exists).then_some(KeyState { token: token.max(state.token), ..state })
            }
        }
    }

    fn is_dead(state: &KeyState, op: &KeyOp) -> bool {
        match op {
            KeyOp::Write { token, .. } => state.token > *token,
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
    fn versions_begin_anew_only_without_state() {
        let grant = KeyOp::Grant { token: 5, version: 0 };
        let removed = KeyOp::Write { token: 5, expects: Some(1), value: None, version: Some(2) };
        let later = KeyOp::Grant { token: 9, version: 0 };
        assert!(answered(&[grant, write(5, 10, 1), removed, later, write(9, 1, 1)]));
        assert!(!answered(&[grant, write(5, 10, 1), later]));
    }
}
