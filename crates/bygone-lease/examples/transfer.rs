//! A transfer between two keys: both change, or neither does.
//!
//! ```sh
//! cargo run -p bygone-lease --example transfer [DIRECTORY]
//! ```

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::path::PathBuf;

use bygone_lease::storage::Disk;
use bygone_lease::{Acquire, IfVersion, Key, LeaseStore, Namespace, Options, TxnId};

struct Bank {
    store: LeaseStore,
    accounts: Namespace,
}

impl Bank {
    async fn balance(&self, name: &str) -> Result<(u64, IfVersion), Box<dyn Error>> {
        let found = self.store.get(&self.accounts, &Key::new(name)?).await?;
        let Some(found) = found else { return Ok((0, IfVersion::Is(0))) };
        Ok((std::str::from_utf8(&found.state)?.parse()?, IfVersion::Is(found.version)))
    }

    /// Stages a balance: nobody sees it before the commit, and nobody else can change the account until then.
    async fn stage(&self, txn: TxnId, name: &str, balance: u64, read: IfVersion) -> Result<(), Box<dyn Error>> {
        let account = Acquire { txn: Some(txn), ..Acquire::new(self.accounts.clone(), Key::new(name)?, "bank") };
        self.store.stage(&account, balance.to_string().as_bytes(), read).await?;
        Ok(())
    }

    async fn stage_both(&self, txn: TxnId, from: &str, to: &str, amount: u64) -> Result<(), Box<dyn Error>> {
        let (balance, read) = self.balance(to).await?;
        self.stage(txn, to, balance + amount, read).await?;
        let (balance, read) = self.balance(from).await?;
        let rest = balance.checked_sub(amount).ok_or_else(|| format!("{from} has only {balance}"))?;
        self.stage(txn, from, rest, read).await
    }

    async fn transfer(&self, from: &str, to: &str, amount: u64) -> Result<(), Box<dyn Error>> {
        // Should we crash, it is rolled back when its time is over, by whoever comes by.
        let txn = self.store.begin(None)?;
        match self.stage_both(txn, from, to, amount).await {
            Ok(()) => Ok(self.store.commit(txn).await?),
            Err(error) => {
                self.store.rollback(txn).await?;
                Err(error)
            }
        }
    }

    async fn tell(&self, what: &str) -> Result<(), Box<dyn Error>> {
        println!("{what}: ann has {}, ben has {}", self.balance("ann").await?.0, self.balance("ben").await?.0);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let store = LeaseStore::open(Disk::open(&directory)?, Options::default()).await?;
    let bank = Bank { store, accounts: Namespace::new("accounts")? };

    let txn = bank.store.begin(None)?;
    for (name, balance) in [("ann", 100), ("ben", 0)] {
        bank.stage(txn, name, balance, IfVersion::Any).await?;
    }
    bank.store.commit(txn).await?;
    bank.tell("at first").await?;

    bank.transfer("ann", "ben", 40).await?;
    bank.tell("after 40 were moved").await?;

    // Half of it is staged when it turns out that it cannot be: nobody ever sees that half.
    if let Err(error) = bank.transfer("ann", "ben", 75).await {
        bank.tell(&format!("75 cannot be moved, {error}")).await?;
    }

    // Before the commit everybody reads what was there before.
    let txn = bank.store.begin(None)?;
    bank.stage_both(txn, "ben", "ann", 10).await?;
    bank.tell("while 10 are on their way").await?;
    bank.store.commit(txn).await?;
    bank.tell("when they have come").await?;
    Ok(())
}
