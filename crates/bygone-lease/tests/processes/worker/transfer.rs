//! Transfers between accounts, each in a transaction over two or three keys.

use std::time::Duration;

use bygone_lease::{Acquire, Error, IfVersion, TxnId, Wait};

use super::{Hand, complain};
use crate::books::{ACCOUNTS, Account, account};
use crate::orders::{Said, namespace, say};

impl Hand {
    pub(super) async fn transfer(&mut self, term: u64) {
        let (id, deltas) = (self.new_name(), self.deltas());
        let store = &self.worker.store;
        let txn = store.begin(None).unwrap();
        say(&Said::Moving { id: id.clone(), term, deltas: deltas.clone() });
        let staged = if self.one_in(2) {
            self.stage(txn, &id, term, &deltas).await
        } else {
            self.take(txn, &id, term, &deltas).await
        };
        if let Err(error) = &staged {
            complain("stage", error);
        }
        if staged.is_ok() && !self.one_in(8) {
            match store.commit(txn).await {
                Ok(()) => say(&Said::Moved { id }),
                // Decided otherwise, before us: nothing of it comes true.
                Err(Error::TxnConflict { .. }) => say(&Said::Undone { id, code: "txn_conflict".to_owned() }),
                Err(error) => complain("commit", &error),
            }
            return;
        }
        match store.rollback(txn).await {
            Ok(_) => say(&Said::Undone { id, code: "rollback".to_owned() }),
            Err(error) => complain("rollback", &error),
        }
    }

    /// What is taken here is given there.
    fn deltas(&self) -> Vec<(usize, i64)> {
        let accounts = u64::try_from(ACCOUNTS).unwrap();
        let (first, step) = (self.below(accounts), 1 + self.below(accounts - 1));
        let number = |steps: u64| usize::try_from((first + steps * step) % accounts).unwrap();
        let amount = i64::try_from(1 + self.below(9)).unwrap();
        if self.one_in(2) {
            vec![(number(0), -amount), (number(1), amount)]
        } else {
            vec![(number(0), -2 * amount), (number(1), amount), (number(2), amount)]
        }
    }

    /// Reads first, and stages only what was read.
    async fn stage(&self, txn: TxnId, id: &str, term: u64, deltas: &[(usize, i64)]) -> Result<(), Error> {
        let store = &self.worker.store;
        for (number, delta) in deltas {
            let key = account(term, *number);
            let found = store.get(&namespace(), &key).await?.expect("accounts stay");
            let state = Account::after(std::str::from_utf8(&found.state).unwrap(), id, *delta);
            let acquire = Acquire { txn: Some(txn), ..self.worker.acquire(key) };
            store.stage(&acquire, state.as_bytes(), IfVersion::Is(found.version)).await?;
        }
        Ok(())
    }

    /// Takes the leases first, and then does what it likes.
    async fn take(&self, txn: TxnId, id: &str, term: u64, deltas: &[(usize, i64)]) -> Result<(), Error> {
        let store = &self.worker.store;
        let mut taken = Vec::new();
        for (number, delta) in deltas {
            let wait = Wait::For(Duration::from_millis(20));
            let acquire = Acquire { txn: Some(txn), wait, ..self.worker.acquire(account(term, *number)) };
            taken.push((store.acquire(&acquire).await?, delta));
        }
        self.pause(20).await;
        for (lease, delta) in taken {
            let lease = if self.one_in(3) { store.keepalive(&lease, None).await? } else { lease };
            let found = store.get_held(&lease).await?.expect("accounts stay");
            let state = Account::after(std::str::from_utf8(&found.state).unwrap(), id, *delta);
            store.update(&lease, state.as_bytes(), IfVersion::Is(found.version)).await?;
        }
        Ok(())
    }
}
