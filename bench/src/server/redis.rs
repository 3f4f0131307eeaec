//! Redis, durable before it answers, and a client of it.
//!
//! The client is the least that there can be: one connection each, one command at a time, and no more work on either side
//! than the protocol asks for.

use bygone_testkit::{Options, Redis};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::packages;
use crate::failure::Failure;

/// Starts a server, and says its version.
pub(crate) async fn start() -> Result<(Redis, String), Failure> {
    packages::need("redis-server", "redis-server")?;
    let server = Redis::start(Options::default()).await?;
    let info = RedisClient::connect(&server).await?.ask(&["INFO", "server"]).await?;
    let version = info.text().lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("?");
    let name = format!("Redis {version}, appendfsync always");
    Ok((server, name))
}

/// What Redis answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Nothing,
    Number(i64),
    Text(String),
    List(Vec<Reply>),
}

impl Reply {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The list, if it is one.
    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(list) = self { list } else { &[] }
    }
}

/// A connection.
pub(crate) struct RedisClient {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl RedisClient {
    /// Connects, and says the password.
    pub(crate) async fn connect(server: &Redis) -> Result<Self, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).await?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, request: Vec::new(), answer: Vec::new() };
        client.ask(&["AUTH", server.password()]).await?;
        Ok(client)
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn ask(&mut self, words: &[&str]) -> Result<Reply, Failure> {
        self.request.clear();
        self.request.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            self.request.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("Redis has hung up".into());
            }
            if let Some((reply, [])) = parse(&self.answer)? {
                return Ok(reply);
            }
        }
    }
}

/// A reply and what is behind it; `None` while its end has not come.
fn parse(bytes: &[u8]) -> Result<Option<(Reply, &[u8])>, Failure> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
    let (line, rest) = (std::str::from_utf8(&bytes[..end])?, &bytes[end + 2..]);
    let (kind, line) = line.split_at_checked(1).ok_or("an empty line from Redis")?;
    match kind {
        "+" => Ok(Some((Reply::Text(line.to_owned()), rest))),
        ":" => Ok(Some((Reply::Number(line.parse()?), rest))),
        "-" => Err(format!("Redis refuses: {line}").into()),
        "$" | "*" if line == "-1" => Ok(Some((Reply::Nothing, rest))),
        "$" => {
            let length: usize = line.parse()?;
            let Some(text) = rest.get(..length).filter(|_| rest.len() >= length + 2) else { return Ok(None) };
            Ok(Some((Reply::Text(String::from_utf8_lossy(text).into_owned()), &rest[length + 2..])))
        }
        "*" => {
            let (mut list, mut rest) = (Vec::new(), rest);
            for _ in 0..line.parse::<usize>()? {
                let Some((reply, behind)) = parse(rest)? else { return Ok(None) };
                list.push(reply);
                rest = behind;
            }
            Ok(Some((Reply::List(list), rest)))
        }
        other => Err(format!("Redis says {other:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Option<Reply> {
        let (reply, rest) = parse(bytes).unwrap()?;
        assert_eq!(rest, b"");
        Some(reply)
    }

    #[test]
    fn replies_are_read_once_they_are_whole() {
        let text = |text: &str| Reply::Text(text.to_owned());
        assert_eq!(whole(b"+OK\r\n"), Some(text("OK")));
        assert_eq!(whole(b":12\r\n"), Some(Reply::Number(12)));
        assert_eq!(whole(b"$-1\r\n"), Some(Reply::Nothing));
        assert_eq!(whole(b"$2\r\nab\r\n"), Some(text("ab")));
        let list = b"*2\r\n$1\r\na\r\n*1\r\n:7\r\n";
        assert_eq!(whole(list), Some(Reply::List(vec![text("a"), Reply::List(vec![Reply::Number(7)])])));
        for end in 0..list.len() {
            assert_eq!(whole(&list[..end]), None, "{end}");
        }
        assert!(parse(b"-ERR no\r\n").is_err());
    }
}
