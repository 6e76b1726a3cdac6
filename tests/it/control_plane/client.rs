//! Client calls of operator authors through a project's manager: `tests/client`.

use std::time::Duration;

use super::free_ports;
use super::program::Program;

#[test]
fn what_authors_ask_for_is_what_the_server_does() {
    let [port] = free_ports();
    let program = Program {
        name: "client",
        change: |_| {},
        args: vec![format!("--health-probe-bind-address=127.0.0.1:{port}"), format!("--probes={port}")],
        limit: Duration::from_secs(600),
        success: "all is well",
    };
    program.run();
}
