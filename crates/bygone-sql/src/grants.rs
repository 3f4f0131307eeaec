//! The least rights with which a role can sweep.

use std::collections::{BTreeMap, BTreeSet};

use crate::bind::KeyColumn;
use crate::engine::Engine;
use crate::target::RowTarget;

/// What a role needs in one source.
#[derive(Clone, Debug)]
pub struct Grants {
    engine: Engine,
    schemas: BTreeSet<String>,
    /// By quoted table. Whatever stands here is read.
    tables: BTreeMap<String, Rights>,
    /// Whether it has to see what others do.
    watches: bool,
}

/// What a role needs on a table, besides reading it.
#[derive(Clone, Debug, Default)]
struct Rights {
    delete: bool,
    /// Quoted columns.
    update: BTreeSet<String>,
    /// PostgreSQL: whoever locks rows must have the right to change some column of them.
    lock: Option<String>,
}

impl Grants {
    /// Nothing yet.
    pub fn new(engine: Engine) -> Self {
        Self { engine, schemas: BTreeSet::new(), tables: BTreeMap::new(), watches: false }
    }

    /// Adds what a policy needs.
    pub fn add(&mut self, target: &RowTarget) {
        let binding = &target.binding;
        self.schemas.extend(binding.table.schema.clone());
        self.schemas.extend(binding.family.schemas.iter().cloned());
        let rights = self.tables.entry(binding.table.quoted.clone()).or_default();
        rights.update.extend(binding.changes.iter().map(|change| change.quoted().to_owned()));
        if binding.changes.is_empty() {
            rights.delete = true;
            // A column of the key is the one that is of least use to whoever would misuse it: others point at it.
            let key = binding.key.iter().find(|key| **key != KeyColumn::place()).map(|key| key.quoted.clone());
            let first = || binding.table.columns.first().map(|column| self.engine.quote(&column.name));
            rights.lock = key.or_else(first).filter(|_| self.engine == Engine::Postgres);
        }
        for child in &binding.family.children {
            self.tables.entry(child.hops[0].table.clone()).or_default().delete = true;
        }
        for watched in &binding.family.watched {
            self.tables.entry(watched.clone()).or_default();
        }
    }

    /// Adds what it takes to count sessions at work, for gates and for whoever gives way to them, and to see how far standbys are behind.
    pub fn add_watching(&mut self) {
        self.watches = self.engine == Engine::Postgres;
    }

    /// The statements that give them to a role.
    pub fn statements(&self, role: &str) -> Vec<String> {
        let role = self.quoted_role(role);
        let schema = |schema: &String| format!("GRANT USAGE ON SCHEMA {} TO {role}", self.engine.quote(schema));
        let schemas = self.schemas.iter().filter(|_| self.engine == Engine::Postgres).map(schema);
        let table = |(table, rights): (&String, &Rights)| format!("GRANT {} ON {table} TO {role}", rights.list());
        let watching = self.watches.then(|| format!("GRANT pg_monitor TO {role}"));
        schemas.chain(self.tables.iter().map(table)).chain(watching).collect()
    }

    /// MySQL's accounts have a host: `name@host`. Without it a role is meant, or the account of every host.
    fn quoted_role(&self, role: &str) -> String {
        match (self.engine, role.rsplit_once('@')) {
            (Engine::MySql, Some((name, host))) => format!("{}@{}", self.engine.quote(name), self.engine.quote(host)),
            _ => self.engine.quote(role),
        }
    }
}

impl Rights {
    fn list(&self) -> String {
        let mut rights = vec!["SELECT".to_owned()];
        if self.delete {
            rights.push("DELETE".to_owned());
        }
        // A column that is changed anyway serves for locking, too.
        let lock = self.lock.iter().filter(|_| self.update.is_empty());
        let columns: Vec<&str> = self.update.iter().chain(lock).map(String::as_str).collect();
        if !columns.is_empty() {
            rights.push(format!("UPDATE ({})", columns.join(", ")));
        }
        rights.join(", ")
    }
}
