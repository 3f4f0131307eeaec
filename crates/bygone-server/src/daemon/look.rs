//! What the daemon tells people of sources and policies when they ask: for this the sources are asked, and nothing of them
//! is changed.

use std::sync::{Arc, PoisonError};

use bygone_core::{Gate, Hindrance, TargetError};
use futures_util::future::join_all;

use super::{Daemon, NotTold, TurnSeen};
use crate::estate::{Estate, PolicyCard, SourceCard};
use crate::inspection::{Explanation, Inspection};

/// A gate that lets nobody through now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedGate {
    /// What kind of gate it is.
    pub by: Hindrance,
    /// Why it is closed.
    pub reason: String,
}

impl Daemon {
    /// Looks at a source.
    pub async fn inspect(&self, source: &str) -> Result<Inspection, NotTold> {
        let estate = self.estate();
        known_source(&*estate, source)?;
        let (looks, clock) = (&self.shared.inspections, &*self.shared.clock);
        looks.ask(source, &estate, clock, self.alone(source, estate.inspect(source))).await
    }

    /// How a policy would go about its work.
    pub async fn explain(&self, policy: &str) -> Result<Explanation, NotTold> {
        let estate = self.estate();
        let source = &known_policy(&*estate, policy)?.source;
        let (looks, clock) = (&self.shared.explanations, &*self.shared.clock);
        looks.ask(policy, &estate, clock, self.alone(source, estate.explain(policy))).await
    }

    /// Asks a source when nobody else does.
    async fn alone<T>(&self, source: &str, question: impl Future<Output = T>) -> T {
        let turn = {
            let mut asking = self.shared.asking.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(asking.entry(source.to_owned()).or_default())
        };
        let _alone = turn.lock().await;
        question.await
    }

    /// Which gates of a source are closed.
    pub async fn closed_gates(&self, source: &str) -> Result<Vec<ClosedGate>, NotTold> {
        let estate = self.estate();
        let gates = known_source(&*estate, source)?.gates.clone();
        self.shared.source_gates.ask(source, &estate, &*self.shared.clock, closed(gates)).await
    }

    /// Which gates keep a policy from running, those of its source among them.
    pub async fn closed_gates_of_policy(&self, policy: &str) -> Result<Vec<ClosedGate>, NotTold> {
        let estate = self.estate();
        let gates = known_policy(&*estate, policy)?.gates.clone();
        self.shared.policy_gates.ask(policy, &estate, &*self.shared.clock, closed(gates)).await
    }

    /// Who was seen with the turn of a source, if anybody was.
    pub fn turn_seen(&self, source: &str) -> Option<TurnSeen> {
        self.shared.turns.of(source)
    }
}

async fn closed(gates: Vec<Arc<dyn Gate>>) -> Result<Vec<ClosedGate>, TargetError> {
    let asked = join_all(gates.iter().map(|gate| gate.closed())).await;
    Ok(asked.into_iter().flatten().map(|closed| ClosedGate { by: closed.by, reason: closed.reason }).collect())
}

fn known_policy<'a>(estate: &'a dyn Estate, policy: &str) -> Result<&'a PolicyCard, NotTold> {
    let card = estate.policies().iter().find(|card| card.name == policy);
    card.ok_or_else(|| NotTold::NoSuchPolicy(policy.to_owned()))
}

fn known_source<'a>(estate: &'a dyn Estate, source: &str) -> Result<&'a SourceCard, NotTold> {
    let card = estate.sources().iter().find(|card| card.name == source);
    card.ok_or_else(|| NotTold::NoSuchSource(source.to_owned()))
}
