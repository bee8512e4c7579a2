//! What the shell may ask for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand, ValueEnum as _};

use crate::load::Load;

/// The most gateways that a target may ask for.
const MOST_GATEWAYS: u16 = 64;

/// Measures Conduit beside a bare hyper server in one interleaved run and prints
/// Markdown tables. Only ratios within one run mean anything.
#[derive(Debug, Parser)]
#[command(name = "conduit-bench", args_conflicts_with_subcommands = true)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of a command line"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// What to measure: `floor`, and `conduit-N` or `fixture-N` with N gateways
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "floor,conduit-1,conduit-2,fixture-1,fixture-2"
    )]
    pub(crate) targets: Vec<Name>,

    /// The requests to drive them with; all, unless something else is asked for
    #[arg(long, value_name = "LOADS", value_delimiter = ',')]
    pub(crate) loads: Option<Vec<Load>>,

    /// How many connections are open at once
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) connections: u32,

    /// How often each target is measured with each load
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) reps: u32,

    /// How long one repetition drives one target
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,

    /// Keep the servers on the last core and the load generator on the first
    #[arg(long)]
    pub(crate) pin: bool,

    /// Measure the time from start to the first answered request
    #[arg(long)]
    pub(crate) startup: bool,

    /// Measure the memory of an idle tree of processes
    #[arg(long)]
    pub(crate) memory: bool,

    /// Measure the tasks of the fixture server: creates beside `SQLite`'s own commits,
    /// look-ups among many, and creates while many expire
    #[arg(long)]
    pub(crate) tasks: bool,

    /// Measure the subscription hub of the fixture servers, all of it unless said what
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 0..)]
    pub(crate) hub: Option<Vec<HubLoad>>,

    /// How many streams are held while the hub is measured
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) streams: u32,

    /// How many changes are told to all of them
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) touches: u32,

    /// How many streams are opened and closed, twice
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) churn: u32,

    /// How many tasks are stored when look-ups are measured
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) stored: u64,

    /// How many tasks expire at once
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) expiring: u64,

    /// Take the binaries as they are
    #[arg(long)]
    pub(crate) no_build: bool,

    /// The most seconds that each measurement waits for a machine that nobody else uses
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=600))]
    pub(crate) quiet_wait: u64,

    /// How often a measurement is repeated that others disturbed; the quietest is kept
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) retries: u32,
}

/// What can be measured of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HubLoad {
    /// One change to many listen streams, beside bare hyper
    FanOut,
    /// The same to many sessions with a stream and a subscription each
    FanOutLegacy,
    /// All streams cut and opened again at once
    Storm,
    /// Changes as fast as one callback can tell them
    Publish,
    /// The hub killed while changes are told
    Death,
    /// Streams opened and closed again and again
    Churn,
}

/// What the bench is to itself when it starts itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve as the floor: bare hyper, a typed envelope, fixed answers
    #[command(hide = true)]
    Floor(FloorOptions),
}

/// What the floor is started with.
#[derive(Debug, clap::Args)]
pub(crate) struct FloorOptions {
    /// A file with the result that `tools/list` is answered with
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Option<PathBuf>,
}

/// A server that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Bare hyper.
    Floor,
    /// One of our binaries with this many gateways.
    House {
        /// Which of them.
        binary: Binary,
        /// How many gateways it runs.
        gateways: u16,
    },
}

/// A binary that serves MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// The stock binary with the demo server.
    Conduit,
    /// The fixture server with its hundred tools.
    Fixture,
}

impl Args {
    /// Returns what to measure of the hub.
    pub(crate) fn chosen_of_hub(&self) -> Vec<HubLoad> {
        match &self.hub {
            Some(chosen) if chosen.is_empty() => HubLoad::value_variants().to_vec(),
            Some(chosen) => chosen.clone(),
            None => Vec::new(),
        }
    }

    /// Returns the loads to drive.
    pub(crate) fn chosen_loads(&self) -> Vec<Load> {
        match &self.loads {
            Some(loads) => loads.clone(),
            None if self.startup || self.memory || self.tasks || self.hub.is_some() => Vec::new(),
            None => Load::value_variants().to_vec(),
        }
    }
}

impl Name {
    /// Says whether it has the fixture server's tools.
    pub(crate) const fn is_fixture(self) -> bool {
        matches!(
            self,
            Self::House {
                binary: Binary::Fixture,
                ..
            }
        )
    }
}

impl Binary {
    /// Returns the name of the package, which is that of the executable.
    pub(crate) const fn package(self) -> &'static str {
        match self {
            Self::Conduit => "conduit",
            Self::Fixture => "fixture-server",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor => f.pad("floor"),
            Self::House { binary, gateways } => {
                let binary = match binary {
                    Binary::Conduit => "conduit",
                    Binary::Fixture => "fixture",
                };
                write!(f, "{binary}-{gateways}")
            }
        }
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "floor" {
            return Ok(Self::Floor);
        }
        let house = text.rsplit_once('-').and_then(|(binary, gateways)| {
            let binary = match binary {
                "conduit" => Binary::Conduit,
                "fixture" => Binary::Fixture,
                _ => return None,
            };
            let gateways = gateways.parse().ok()?;
            (1..=MOST_GATEWAYS)
                .contains(&gateways)
                .then_some(Self::House { binary, gateways })
        });
        house.ok_or_else(|| {
            format!(
                "neither `floor` nor `conduit-N` or `fixture-N` with N from 1 to {MOST_GATEWAYS}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_floor_or_a_binary_with_gateways() {
        let fixture = Name::House {
            binary: Binary::Fixture,
            gateways: 2,
        };

        assert_eq!("floor".parse(), Ok(Name::Floor));
        assert_eq!("fixture-2".parse(), Ok(fixture));
        assert_eq!(fixture.to_string(), "fixture-2");
        for wrong in [
            "",
            "fixture",
            "fixture-0",
            "fixture-65",
            "conduit-x",
            "rmcp-1",
        ] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_of_the_hub_is_measured_unless_said_what() {
        let parse = |options: &[&str]| {
            Args::try_parse_from(std::iter::once("bench").chain(options.iter().copied()))
                .expect("options that exist")
                .chosen_of_hub()
        };

        assert_eq!(parse(&[]), []);
        assert_eq!(parse(&["--hub", "--pin"]), HubLoad::value_variants());
        assert_eq!(
            parse(&["--hub", "storm,fan-out"]),
            [HubLoad::Storm, HubLoad::FanOut]
        );
    }

    #[test]
    fn asking_for_something_else_alone_drives_no_load() {
        let parse = |options: &[&str]| {
            Args::try_parse_from(std::iter::once("bench").chain(options.iter().copied()))
                .expect("options that exist")
        };

        assert_eq!(parse(&[]).chosen_loads(), Load::value_variants());
        assert_eq!(parse(&["--startup"]).chosen_loads(), []);
        assert_eq!(parse(&["--tasks"]).chosen_loads(), []);
        assert_eq!(parse(&["--hub"]).chosen_loads(), []);
        assert_eq!(
            parse(&["--memory", "--loads", "ping,pool-legacy"]).chosen_loads(),
            [Load::Ping, Load::PoolLegacy]
        );
    }
}
