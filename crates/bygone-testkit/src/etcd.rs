//! etcd: not tested against, but a peer that the benches run beside bygone.

use std::ffi::OsString;
use std::path::Path;

use http::Request;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustix::process::Signal;
use tokio::sync::OnceCell;

use crate::access::{Access, HOST};
use crate::engine::{Service, sealed};
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::programs;
use crate::server::Server;

/// An etcd server: a cluster of one.
pub type Etcd = Server<EtcdService>;

/// Marks what belongs to etcd.
#[derive(Debug, Clone, Copy)]
pub struct EtcdService;

static SHARED: OnceCell<Etcd> = OnceCell::const_new();

impl sealed::Sealed for EtcdService {}

impl Service for EtcdService {
    const NAME: &'static str = "etcd";
    const ACCOUNTS: &'static [&'static str] = &["etcd"];
    const STOP: Signal = Signal::TERM;
    /// One for its clients, one for other members, who never come.
    const MORE_PORTS: usize = 1;

    fn initialise(_instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        Ok(None)
    }

    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let url = |port: u16| format!("http://{HOST}:{port}");
        let (clients, members) = (url(access.port), url(access.more_ports.first().copied().unwrap_or_default()));
        let name = name(access);
        let mut arguments: Vec<OsString> = vec!["--data-dir".into(), instance.data().into()];
        let mut set = |name: &str, value: &str| arguments.push(format!("--{name}={value}").into());
        set("name", &name);
        set("listen-client-urls", &clients);
        set("advertise-client-urls", &clients);
        set("listen-peer-urls", &members);
        set("initial-advertise-peer-urls", &members);
        set("initial-cluster", &format!("{name}={members}"));
        for (name, value) in settings {
            set(name, value);
        }
        let program = programs::find("etcd", "etcd-server", &[])?;
        Ok(Invocation { program, arguments, environment: Vec::new() })
    }

    /// Asks for its members: no other server has one of this name.
    async fn look(access: &Access, _data: &Path) -> Result<(), String> {
        let client = Client::builder(TokioExecutor::new()).build_http::<String>();
        let request = Request::post(format!("http://{HOST}:{}/v3/cluster/member/list", access.port))
            .body("{}".to_owned())
            .map_err(|error| error.to_string())?;
        let answer = client.request(request).await.map_err(|error| error.to_string())?;
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let body = String::from_utf8_lossy(&body);
        if body.contains(&name(access)) { Ok(()) } else { Err(body.into_owned()) }
    }

    fn shared_cell() -> &'static OnceCell<Etcd> {
        &SHARED
    }
}

/// Nobody is let in by it, so it need not be secret.
fn name(access: &Access) -> String {
    format!("bygone-{}", access.password)
}
