// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Runs the operator until SIGTERM or Ctrl-C.

use std::process::ExitCode;

use clap::Parser;
use manager::{Manager, Options};

#[derive(Parser)]
#[command(version, about)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.manager.init_logging();
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator can't run");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), manager::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let manager = Manager::new("multi-group", version, args.manager).await?;
    manager
        .leader_election_id("a8efdd74.example.org")
        .with(multi_group::controller::ship::frigate::register)
        .with(
            multi_group::controller::sea_creatures::humpback_whale_migration_observation::register,
        )
        .with(multi_group::controller::apps::replica_set::register)
        .with(multi_group::controller::ship::frigate_backup::register)
        .with(multi_group::webhook::ship::v1beta1::frigate::register)
        // +kubebuilder:scaffold:controllers
        .run()
        .await
}
