//! The servers that the URL of a store names. Each is tried by itself and for its share of the time,
//! because one that hangs still takes connections, and would keep a caller from the next one.

use std::future::pending;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::random::random;

/// The time for all servers together. The pool waits a second longer for a connection.
const ATTEMPT_MAX: Duration = Duration::from_secs(9);
/// The time for which a server that hung is tried after the others.
const LAST_FOR: Duration = Duration::from_mins(1);

/// A client, and the connection that a task drives.
type Connected = (
    Client,
    Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
);

/// The servers of a store.
pub(crate) struct Hosts {
    /// The configuration of each, in the order of the URL.
    configs: Vec<Config>,
    /// When each last took a connection and did not answer.
    hung: Mutex<Vec<Option<Instant>>>,
}

impl Hosts {
    /// Returns the servers that a configuration names.
    pub(crate) fn of(config: &Config) -> Self {
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        let configs: Vec<Config> = match hosts {
            0 | 1 => vec![config.clone()],
            _ => (0..hosts).map(|place| alone(config, place)).collect(),
        };
        let hung = Mutex::new(vec![None; configs.len()]);
        Hosts { configs, hung }
    }

    /// Connects to the first server that answers as the URL wants it, e.g. one that can be written. Does
    /// not end if none answers and none refuses: the pool has a limit.
    ///
    /// # Errors
    /// The one of the last server that refused.
    pub(crate) async fn connect(&self, tls: &MakeRustlsConnect) -> Result<Connected, Error> {
        let [one] = self.configs.as_slice() else {
            return self.connect_to_one_of_many(tls).await;
        };
        one.connect(tls.clone()).await
    }

    async fn connect_to_one_of_many(&self, tls: &MakeRustlsConnect) -> Result<Connected, Error> {
        let share = ATTEMPT_MAX / u32::try_from(self.configs.len()).unwrap_or(u32::MAX);
        let mut refusal = None;
        for place in self.order() {
            let attempt = self.configs[place].connect(tls.clone());
            match tokio::time::timeout(share, attempt).await {
                Ok(Ok(made)) => {
                    self.note(place, None);
                    return Ok(made);
                }
                Ok(Err(error)) => {
                    self.note(place, None);
                    refusal = Some(error);
                }
                Err(_) => {
                    tracing::warn!(
                        host = ?self.configs[place].get_hosts(),
                        "a server of the store takes connections and does not answer"
                    );
                    self.note(place, Some(Instant::now()));
                }
            }
        }
        match refusal {
            Some(error) => Err(error),
            None => pending().await,
        }
    }

    /// Returns the places of the servers in the order of the next attempt.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.configs.len()).collect();
        if self.configs[0].get_load_balance_hosts() == LoadBalanceHosts::Random {
            let first = random() % order.len() as u64;
            order.rotate_left(usize::try_from(first).unwrap_or(0));
        }
        let hung = self.hung.lock().unwrap_or_else(PoisonError::into_inner);
        order.sort_by_key(|place| hung[*place].is_some_and(|at| at.elapsed() < LAST_FOR));
        order
    }

    fn note(&self, place: usize, hung: Option<Instant>) {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)[place] = hung;
    }
}

/// Returns the configuration of one of several servers.
fn alone(config: &Config, place: usize) -> Config {
    let mut one = Config::new();
    match config.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => drop(one.host_path(folder)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(place).or_else(|| ports.first()) {
        one.port(*port);
    }
    with_rest(one, config)
}

/// Returns the configuration of a server at another address that is reached as these are.
pub(crate) fn at(config: &Config, host: &str, port: u16) -> Config {
    let mut one = Config::new();
    one.host(host).port(port);
    with_rest(one, config)
}

/// Adds all that a configuration says besides the address.
fn with_rest(mut one: Config, config: &Config) -> Config {
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(database) = config.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(pause) = config.get_keepalives_interval() {
        one.keepalives_interval(pause);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "user='ann' password='s' dbname='loci' options='-c geqo=off' application_name='tea' \
        sslmode=require sslnegotiation=direct connect_timeout=3 tcp_user_timeout=4 keepalives=0 keepalives_idle=5 \
        keepalives_interval=6 keepalives_retries=7 target_session_attrs=read-write channel_binding=require \
        load_balance_hosts=random";

    fn parsed(hosts: &str) -> Config {
        format!("{EVERYTHING} {hosts}").parse().unwrap()
    }

    #[test]
    fn each_server_has_all_that_the_url_says() {
        let both = parsed("host=db1,/run/pg hostaddr=10.0.0.1,10.0.0.2 port=5433,5434");
        let hosts = Hosts::of(&both);
        let expected = [
            parsed("host=db1 hostaddr=10.0.0.1 port=5433"),
            parsed("host=/run/pg hostaddr=10.0.0.2 port=5434"),
        ];
        assert_eq!(hosts.configs, expected);
        // Each field that a configuration has is among these.
        let shown = format!("{:?}", expected[0]);
        assert!(!shown.contains("None"), "{shown}");
        let one_port = Hosts::of(&parsed("host=db1,db2 port=5433"));
        assert_eq!(one_port.configs[1], parsed("host=db2 port=5433"));
    }

    #[test]
    fn a_server_that_hung_comes_last_for_a_while() {
        let config: Config = "host=a,b,c user=u".parse().unwrap();
        let hosts = Hosts::of(&config);
        assert_eq!(hosts.order(), [0, 1, 2]);
        hosts.note(0, Some(Instant::now()));
        assert_eq!(hosts.order(), [1, 2, 0]);
        if let Some(before) = Instant::now().checked_sub(LAST_FOR) {
            hosts.note(0, Some(before));
            assert_eq!(hosts.order(), [0, 1, 2]);
        }
        hosts.note(1, Some(Instant::now()));
        hosts.note(1, None);
        assert_eq!(hosts.order(), [0, 1, 2]);
    }
}
