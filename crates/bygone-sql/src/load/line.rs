//! A connection for asking, kept from one question to the next and made anew when it is lost.

use std::time::Duration;

use bygone_core::ErrorKind;

use crate::connection::{self, Connection, NamedRow, Purpose, Session};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::url::SourceUrl;

/// A server that takes longer to say how busy it is, is.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Line {
    url: SourceUrl,
    connection: Option<Box<dyn Connection>>,
}

impl Line {
    pub(super) fn new(url: SourceUrl) -> Self {
        Self { url, connection: None }
    }

    pub(super) fn url(&self) -> &SourceUrl {
        &self.url
    }

    pub(super) fn engine(&self) -> Engine {
        self.url.engine()
    }

    pub(super) fn close(&mut self) {
        self.connection = None;
    }

    /// Asks; once more where the connection was lost since the last time.
    pub(super) async fn ask(&mut self, text: &str) -> Result<Vec<NamedRow>, SqlError> {
        let query = Query::new(self.engine(), text);
        let was_open = self.connection.is_some();
        match self.try_ask(&query).await {
            Err(error) if was_open && error.kind() == ErrorKind::Lost => self.try_ask(&query).await,
            answer => answer,
        }
    }

    async fn try_ask(&mut self, query: &Query) -> Result<Vec<NamedRow>, SqlError> {
        // It is taken out meanwhile: one that is given up in the middle of an answer is not asked again.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.url).await?,
        };
        let answer = tokio::time::timeout(ANSWER_WITHIN, connection.show(query)).await.unwrap_or_else(|_| {
            let message = format!("{} did not answer within {} s", self.url, ANSWER_WITHIN.as_secs());
            Err(SqlError::new(ErrorKind::Lost, message))
        });
        if !answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Lost) {
            self.connection = Some(connection);
        }
        answer
    }
}

async fn connect(url: &SourceUrl) -> Result<Box<dyn Connection>, SqlError> {
    let session = Session::new(url.engine(), Some(ANSWER_WITHIN), None, Purpose::Read);
    connection::connect(url, session).await
}
