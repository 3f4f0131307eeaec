//! Whether what was answered could have been answered by one store that does one thing after another.
//!
//! Every call has a beginning and, mostly, an answer. A history is linearizable if each call can be given one instant between
//! the two so that, in the order of these instants, the answers are those of a simple model. This is the search of Wing and
//! Gong in the form of Lowe: events are taken in their order, and only when a call is answered must it have happened, with
//! any of those that were under way before it. All ways in which that may have gone are kept; equal ones are one.
//!
//! A call that nobody was told the outcome of may have happened or not, and may still happen: it stays under way until no
//! way is left on which it could matter.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

/// What a store is to be like.
pub(crate) trait Model {
    /// What it remembers.
    type State: Clone + Debug + Default + Eq + Hash;
    /// A call together with its answer.
    type Op: Clone + Debug;

    /// What the store remembers after this call; `None` if it would not have answered like that.
    fn step(state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// Whether a call can no longer do anything, now and for ever.
    fn is_dead(state: &Self::State, op: &Self::Op) -> bool;
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallId(u64);

/// What is known of a call that began.
#[derive(Clone, Debug)]
enum Known<O> {
    /// Nothing yet.
    Nothing,
    /// It surely did nothing, and says nothing.
    Void,
    Answered(O),
    /// Nobody will ever be told.
    Unknown(O),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Began(CallId),
    Ended(CallId),
}

/// One way in which everything may have gone: what the store remembers, and which of the calls under way have happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Way<S> {
    state: S,
    happened: u64,
}

#[derive(Debug)]
struct Pending<O> {
    op: O,
    call: CallId,
    is_unknown: bool,
}

/// Answers that fit no order.
#[derive(Debug, thiserror::Error)]
#[error("no order of calls explains {answer}; under way: {pending}; before: {states}")]
pub(crate) struct NotLinearizable {
    answer: String,
    pending: String,
    states: String,
}

/// The history of one key, checked as it grows.
#[derive(Debug)]
pub(crate) struct History<M: Model> {
    ways: Vec<Way<M::State>>,
    pending: [Option<Pending<M::Op>>; 64],
    events: VecDeque<Event>,
    calls: HashMap<CallId, Known<M::Op>>,
    next: u64,
    /// Answers that were checked.
    pub(crate) checked: u64,
}

impl<M: Model> Default for History<M> {
    fn default() -> Self {
        Self {
            ways: vec![Way { state: M::State::default(), happened: 0 }],
            pending: [const { None }; 64],
            events: VecDeque::new(),
            calls: HashMap::new(),
            next: 0,
            checked: 0,
        }
    }
}

impl<M: Model> History<M> {
    /// Somebody asks.
    pub(crate) fn begin(&mut self) -> CallId {
        self.next += 1;
        let call = CallId(self.next);
        self.calls.insert(call, Known::Nothing);
        self.events.push_back(Event::Began(call));
        call
    }

    /// He is answered.
    pub(crate) fn answer(&mut self, call: CallId, op: M::Op) -> Result<(), NotLinearizable> {
        self.calls.insert(call, Known::Answered(op));
        self.events.push_back(Event::Ended(call));
        self.check()
    }

    /// It did nothing, and that says nothing.
    pub(crate) fn void(&mut self, call: CallId) -> Result<(), NotLinearizable> {
        self.calls.insert(call, Known::Void);
        self.check()
    }

    /// Nobody will ever know what became of it.
    pub(crate) fn unknown(&mut self, call: CallId, op: M::Op) -> Result<(), NotLinearizable> {
        self.calls.insert(call, Known::Unknown(op));
        self.check()
    }

    /// Takes events as far as the answers of all calls that began are known.
    fn check(&mut self) -> Result<(), NotLinearizable> {
        while let Some(event) = self.events.front().copied() {
            match event {
                Event::Began(call) => match self.calls.get(&call) {
                    Some(Known::Nothing) => return Ok(()),
                    Some(Known::Answered(op)) => self.enter(call, op.clone(), false)?,
                    Some(Known::Unknown(op)) => {
                        let op = op.clone();
                        self.calls.remove(&call);
                        self.enter(call, op, true)?;
                    }
                    Some(Known::Void) | None => drop(self.calls.remove(&call)),
                },
                Event::Ended(call) => {
                    self.calls.remove(&call);
                    self.end(call)?;
                }
            }
            self.events.pop_front();
        }
        Ok(())
    }

    fn enter(&mut self, call: CallId, op: M::Op, is_unknown: bool) -> Result<(), NotLinearizable> {
        let Some(place) = self.pending.iter().position(Option::is_none) else {
            return Err(self.refusal("sixty-five calls at once".to_owned()));
        };
        self.pending[place] = Some(Pending { op, call, is_unknown });
        Ok(())
    }

    /// By now this call has happened.
    fn end(&mut self, call: CallId) -> Result<(), NotLinearizable> {
        let is_it = |pending: &Option<Pending<M::Op>>| pending.as_ref().is_some_and(|pending| pending.call == call);
        let Some(place) = self.pending.iter().position(is_it) else { return Ok(()) };
        let mark = 1_u64 << place;
        let (mut seen, mut kept) = (HashSet::new(), HashSet::new());
        let mut open: Vec<_> = self.ways.iter().map(|way| self.eased(way.clone())).collect();
        while let Some(way) = open.pop() {
            if way.happened & mark != 0 {
                kept.insert(Way { happened: way.happened & !mark, ..way });
                continue;
            }
            for (at, pending) in self.pending.iter().enumerate() {
                let Some(pending) = pending.as_ref().filter(|_| way.happened & (1 << at) == 0) else { continue };
                if let Some(state) = M::step(&way.state, &pending.op) {
                    let next = self.eased(Way { state, happened: way.happened | (1 << at) });
                    if seen.insert(next.clone()) {
                        open.push(next);
                    }
                }
            }
        }
        if kept.is_empty() {
            let answer = self.pending[place].as_ref().map_or_else(String::new, |pending| format!("{:?}", pending.op));
            return Err(self.refusal(answer));
        }
        self.ways = kept.into_iter().collect();
        self.pending[place] = None;
        self.checked += 1;
        self.forget_dead();
        Ok(())
    }

    /// A call that fits and changes nothing may as well have happened: waiting for it would gain nothing.
    fn eased(&self, mut way: Way<M::State>) -> Way<M::State> {
        for (at, pending) in self.pending.iter().enumerate() {
            let Some(pending) = pending.as_ref().filter(|pending| !pending.is_unknown) else { continue };
            if way.happened & (1 << at) == 0 && M::step(&way.state, &pending.op).as_ref() == Some(&way.state) {
                way.happened |= 1 << at;
            }
        }
        way
    }

    /// Calls of unknown outcome that can no longer do anything.
    fn forget_dead(&mut self) {
        for at in 0..self.pending.len() {
            let Some(pending) = self.pending[at].as_ref().filter(|pending| pending.is_unknown) else { continue };
            if self.ways.iter().all(|way| M::is_dead(&way.state, &pending.op)) {
                self.pending[at] = None;
                let ways: HashSet<_> =
                    self.ways.drain(..).map(|way| Way { happened: way.happened & !(1 << at), ..way }).collect();
                self.ways.extend(ways);
            }
        }
    }

    fn refusal(&self, answer: String) -> NotLinearizable {
        let pending: Vec<_> = self.pending.iter().flatten().map(|pending| &pending.op).collect();
        let states: Vec<_> = self.ways.iter().take(4).map(|way| &way.state).collect();
        NotLinearizable { answer, pending: format!("{pending:?}"), states: format!("{states:?}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register: the simplest store.
    #[derive(Debug)]
    struct Register;

    #[derive(Clone, Debug)]
    enum Op {
        Write(u64),
        Read(u64),
    }

    impl Model for Register {
        type State = u64;
        type Op = Op;

        fn step(state: &u64, op: &Op) -> Option<u64> {
            match op {
                Op::Write(value) => Some(*value),
                Op::Read(value) => (value == state).then_some(*state),
            }
        }

        fn is_dead(_: &u64, _: &Op) -> bool {
            false
        }
    }

    /// Plays `(call, Some(op))` as a beginning, `(call, None)` as its answer.
    fn play(events: &[(usize, Option<Op>)]) -> Result<(), NotLinearizable> {
        let mut history = History::<Register>::default();
        let mut calls = HashMap::new();
        for (name, op) in events {
            if let Some(op) = op {
                calls.insert(*name, (history.begin(), op.clone()));
            } else {
                let (call, op) = calls.remove(name).unwrap();
                history.answer(call, op)?;
            }
        }
        for (call, op) in calls.into_values() {
            history.unknown(call, op)?;
        }
        Ok(())
    }

    #[test]
    fn one_after_another_is_linearizable_and_must_be_right() {
        let (write, read) = (Op::Write(1), Op::Read(1));
        play(&[(0, Some(write.clone())), (0, None), (1, Some(read)), (1, None)]).unwrap();
        let stale = [(0, Some(write)), (0, None), (1, Some(Op::Read(0))), (1, None)];
        assert!(play(&stale).unwrap_err().to_string().contains("Read(0)"));
    }

    #[test]
    fn what_overlaps_may_be_either_way_round() {
        for value in [0, 1] {
            play(&[(0, Some(Op::Write(1))), (1, Some(Op::Read(value))), (1, None), (0, None)]).unwrap();
        }
        play(&[
            (0, Some(Op::Write(1))),
            (1, Some(Op::Write(2))),
            (0, None),
            (1, None),
            (2, Some(Op::Read(1))),
            (2, None),
        ])
        .unwrap();
    }

    /// The classic: two readers, one after the other, while a write is under way. The second may not see less.
    #[test]
    fn what_was_seen_stays_seen() {
        let history = |first, second| {
            play(&[
                (0, Some(Op::Write(1))),
                (1, Some(Op::Read(first))),
                (1, None),
                (2, Some(Op::Read(second))),
                (2, None),
                (0, None),
            ])
        };
        assert!(history(0, 1).is_ok() && history(1, 1).is_ok() && history(0, 0).is_ok());
        assert!(history(1, 0).is_err());
    }

    #[test]
    fn a_call_of_unknown_outcome_may_happen_late_or_never_but_once() {
        let reads = |values: &[u64]| {
            let mut history = History::<Register>::default();
            let call = history.begin();
            history.unknown(call, Op::Write(1)).unwrap();
            for value in values {
                let call = history.begin();
                history.answer(call, Op::Read(*value))?;
            }
            Ok::<_, NotLinearizable>(())
        };
        assert!(reads(&[0, 0]).is_ok() && reads(&[0, 0, 1]).is_ok() && reads(&[1]).is_ok());
        assert!(reads(&[0, 1, 0]).is_err());
    }

    #[test]
    fn answers_are_judged_once_all_that_began_before_are_known() {
        let mut history = History::<Register>::default();
        let (write, read) = (history.begin(), history.begin());
        history.answer(read, Op::Read(7)).unwrap();
        assert_eq!(history.checked, 0, "the write may have been of seven");
        assert!(history.void(write).is_err());
    }
}
