//! Random rows around every bound.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
/// The keeps of the pack, in seconds.
const KEEPS: [i64; 3] = [HOUR, 7 * DAY, 30 * DAY];

/// A database full of rows, as a script.
pub(crate) struct Data {
    chance: SmallRng,
    boundary: Timestamp,
    sql: String,
    /// Rows of each table.
    rows: usize,
    made: u64,
}

/// The identifiers of a table's rows.
type Ids = Vec<String>;

impl Data {
    pub(crate) fn script(seed: u64, boundary: Timestamp, rows: usize) -> String {
        let mut data = Self { chance: SmallRng::seed_from_u64(seed), boundary, sql: String::new(), rows, made: 0 };
        data.fill();
        data.sql
    }

    fn fill(&mut self) {
        let users = self.table("users", |_| Vec::new());
        let clients = self.table("oauth2_clients", |data| vec![data.one_of(&["true", "false"])]);
        let browsers = self.table("user_sessions", |data| {
            let user = data.some(&users);
            data.session(vec![user])
        });
        let compat = self.table("compat_sessions", |data| {
            let links = vec![data.some(&users), data.some(&browsers)];
            data.session(links)
        });
        let compat_tokens = self.owned("compat_access_tokens", &compat);
        self.table("compat_refresh_tokens", |data| {
            let (token, session) = data.any_of(&compat_tokens);
            vec![session, token]
        });
        self.table("compat_sso_logins", |data| vec![data.some(&compat), data.some(&browsers)]);
        let apps = self.table("oauth2_sessions", |data| {
            let links = vec![data.some(&users), data.some(&browsers), data.some(&clients)];
            data.session(links)
        });
        let tokens = self.table("oauth2_access_tokens", |data| vec![data.any(&apps), data.time(), data.time()]);
        self.refresh_tokens(&apps, &tokens);
        self.table("oauth2_authorization_grants", |data| vec![data.some(&apps), data.some(&browsers)]);
        self.table("oauth2_device_code_grant", |data| vec![data.some(&apps), data.some(&browsers)]);
        let links = self.table("upstream_oauth_links", |data| vec![data.some(&users)]);
        let upstream =
            self.table("upstream_oauth_authorization_sessions", |data| vec![data.some(&links), data.some(&browsers)]);
        self.table("user_session_authentications", |data| vec![data.any(&browsers), data.some(&upstream)]);
        let registrations = self.table("user_registrations", |data| vec!["NULL".to_owned(), data.some(&upstream)]);
        let emails =
            self.table("user_email_authentications", |data| vec![data.some(&browsers), data.some(&registrations)]);
        // A circle: registrations point back at their email authentications.
        for registration in &registrations {
            let email = self.some(&emails);
            let update = "UPDATE user_registrations SET email_authentication_id";
            let _ = writeln!(self.sql, "{update} = {email} WHERE user_registration_id = {registration};");
        }
        self.table("user_email_authentication_codes", |data| vec![data.any(&emails)]);
        let recoveries = self.table("user_recovery_sessions", |_| Vec::new());
        self.table("user_recovery_tickets", |data| vec![data.any(&recoveries)]);
        let statuses = ["'available'", "'scheduled'", "'running'", "'completed'", "'failed'", "'lost'"];
        let jobs = self.table("queue_jobs", |data| vec![data.one_of(&statuses), "NULL".to_owned()]);
        for job in &jobs {
            let next = self.some(&jobs);
            let _ = writeln!(self.sql, "UPDATE queue_jobs SET next_attempt_id = {next} WHERE queue_job_id = {job};");
        }
        for number in 0..5 {
            let job = self.some(&jobs);
            let _ = writeln!(self.sql, "INSERT INTO queue_schedules VALUES ('schedule {number}', {job});");
        }
        self.table("policy_data", |_| vec!["DEFAULT".to_owned()]);
    }

    /// Fills a table with rows of a key and what `columns` says.
    fn table(&mut self, table: &str, mut columns: impl FnMut(&mut Self) -> Vec<String>) -> Ids {
        let mut ids = Vec::with_capacity(self.rows);
        let mut rows = Vec::with_capacity(self.rows);
        for _ in 0..self.rows {
            let id = self.id();
            let mut values = vec![id.clone()];
            values.extend(columns(self));
            rows.push(format!("({})", values.join(", ")));
            ids.push(id);
        }
        let _ = writeln!(self.sql, "INSERT INTO {table} VALUES {};", rows.join(", "));
        ids
    }

    /// A table whose rows each belong to one of another's: pairs of both.
    fn owned(&mut self, table: &str, owners: &[String]) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let ids = self.table(table, |data| {
            let owner = data.any(owners);
            pairs.push(owner.clone());
            vec![owner]
        });
        ids.into_iter().zip(pairs).collect()
    }

    /// Chains of tokens, each exchanged for the one made just after it.
    fn refresh_tokens(&mut self, apps: &[String], tokens: &[String]) {
        self.table("oauth2_refresh_tokens", |data| {
            let consumed = if data.chance.random_ratio(2, 3) { data.time() } else { "NULL".to_owned() };
            let revoked = if data.chance.random_ratio(1, 6) { data.time() } else { "NULL".to_owned() };
            vec![data.any(apps), data.some(tokens), "NULL".to_owned(), consumed, revoked]
        });
        let _ = writeln!(
            self.sql,
            "UPDATE oauth2_refresh_tokens t SET next_oauth2_refresh_token_id = n.next FROM (SELECT \
             oauth2_refresh_token_id AS id, lead(oauth2_refresh_token_id) OVER (ORDER BY md5(oauth2_refresh_token_id::text)) \
             AS next, row_number() OVER (ORDER BY md5(oauth2_refresh_token_id::text)) AS place FROM oauth2_refresh_tokens) n \
             WHERE n.id = t.oauth2_refresh_token_id AND n.place % 7 <> 0;"
        );
    }

    fn session(&mut self, mut links: Vec<String>) -> Vec<String> {
        let address = self.one_of(&["'192.0.2.7'", "'2001:db8::1'", "NULL"]);
        links.extend([self.time(), self.time(), address]);
        links
    }

    /// An instant: on a bound, a microsecond to either side of it, a day to either side, or none at all.
    fn time(&mut self) -> String {
        if self.chance.random_ratio(1, 8) {
            return "NULL".to_owned();
        }
        format!("'{}'", self.near_a_bound())
    }

    fn near_a_bound(&mut self) -> Timestamp {
        let keep = SignedDuration::from_secs(KEEPS[self.chance.random_range(0..KEEPS.len())]);
        let aside = [-86_400_000_000, -1_000, -1, 0, 1, 1_000, 86_400_000_000];
        let aside = SignedDuration::from_micros(aside[self.chance.random_range(0..aside.len())]);
        self.boundary.checked_sub(keep).and_then(|at| at.checked_add(aside)).unwrap()
    }

    /// A ULID in a uuid: the time of a bound, and a number of its own.
    fn id(&mut self) -> String {
        self.made += 1;
        let millis = u64::try_from(self.near_a_bound().as_millisecond()).unwrap();
        let chance: u16 = self.chance.random();
        let digits = format!("{millis:012x}{chance:04x}{:016x}", self.made);
        format!("'{}-{}-{}-{}-{}'", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }

    fn any(&mut self, ids: &[String]) -> String {
        ids[self.chance.random_range(0..ids.len())].clone()
    }

    fn any_of(&mut self, pairs: &[(String, String)]) -> (String, String) {
        pairs[self.chance.random_range(0..pairs.len())].clone()
    }

    /// One of them, or none.
    fn some(&mut self, ids: &[String]) -> String {
        if self.chance.random_ratio(1, 3) { "NULL".to_owned() } else { self.any(ids) }
    }

    fn one_of(&mut self, words: &[&str]) -> String {
        words[self.chance.random_range(0..words.len())].to_owned()
    }
}
