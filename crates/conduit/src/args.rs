//! The command line, the same for the stock binary and for every author's.
//!
//! Its options are settings of the configuration under shorter names; what they may
//! be is for `conduit-config` to say.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{
    ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    value_parser,
};
use conduit_config::{Flag, Sources};
use conduit_link::{NotASlot, Role, Slot, TaskStatus};
use conduit_supervisor::{MOST_GATEWAYS, MOST_HUBS};
use uuid::Uuid;

/// Who speaks to the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The name of the executable, in messages and in the help.
    pub(crate) name: String,
    /// What stands behind the name in `--version`.
    pub(crate) version: &'static str,
}

/// What the shell asks for.
#[derive(Debug)]
pub(crate) struct Args {
    /// What to do.
    pub(crate) command: Command,
    options: Options,
}

/// What to do.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Starts all processes and serves until told to stop (the default)
    Up,
    /// Serves one client on standard input and output, in this process alone
    Stdio {
        /// Which server, where there are several
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
    },
    /// Prints every setting with its value and where it comes from
    Config,
    /// Manages the keys that clients' states are sealed with
    #[command(subcommand)]
    Keys(Keys),
    /// Shows, cancels and exports the tasks in the state directory
    #[command(subcommand)]
    Tasks(Tasks),
    /// Changes how many hubs or gateways there are, while they serve
    Scale(Scale),
    /// Shows the shards of the hub: topics, registrations, rates, lag
    Hub {
        /// Prints JSON, for machines
        #[arg(long)]
        json: bool,
    },
    /// Explains an error code, or lists them all
    Explain {
        /// The code, such as CONFIG-002
        code: Option<String>,
    },
    /// Fills a slot of the tree; started by the supervisor.
    #[command(hide = true)]
    Child(Child),
}

/// How many there are to be.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Scale {
    /// Of which kind
    #[arg(value_name = "hub|gateway")]
    pub(crate) kind: Kind,
    /// How many: 1 to 64 hubs, 1 to 256 gateways; 0 gateways are one for each core
    #[arg(value_name = "N")]
    pub(crate) count: u16,
    /// Returns once it is sure to happen, and does not wait until it has
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// What there can be more or fewer of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Hub,
    Gateway,
}

/// What to do with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Keys {
    /// Adds a key that is used from now on; old ones still open what they have sealed
    Rotate,
}

/// What to do with the tasks.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Tasks {
    /// Lists tasks, the newest first
    Ls {
        /// Only those of this status
        #[arg(long, value_name = "STATUS")]
        status: Option<Status>,
        /// Only those of this server
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Shows what is known of a task, but for what its client alone may see
    Show {
        /// Its id
        #[arg(value_name = "TASK")]
        id: Uuid,
    },
    /// Cancels a task
    Cancel {
        /// Its id
        #[arg(value_name = "TASK")]
        id: Uuid,
    },
    /// Copies the database, as it is at one moment, into a new file
    Export {
        /// The new file
        file: PathBuf,
    },
}

/// How far a task is, as the protocol calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl From<Status> for TaskStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Working => Self::Working,
            Status::InputRequired => Self::InputRequired,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// What a supervisor tells a child on its command line. The settings follow on
/// standard input.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Child {
    /// The place in the tree that it fills
    #[arg(long, value_name = "NAME", value_parser = child_slot)]
    pub(crate) slot: Slot,
    /// Names this life of the process
    #[arg(long, value_name = "UUID")]
    pub(crate) life: Uuid,
    /// The process id of the supervisor
    #[arg(long, value_name = "PID", value_parser = value_parser!(i32).range(1..))]
    pub(crate) parent: i32,
    /// The folder of the sockets between the processes
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
}

impl Program {
    /// Takes the name from the first argument, as the shell gave it.
    pub(crate) fn of(arguments: &[OsString]) -> Self {
        let name = arguments
            .first()
            .and_then(|path| Path::new(path).file_name())
            .map_or_else(|| STOCK.into(), |name| name.to_string_lossy());
        Self {
            version: if name == STOCK { VERSION } else { BUILT_WITH },
            name: name.into_owned(),
        }
    }
}

impl Args {
    /// Understands the arguments, of which the first is the program itself.
    ///
    /// # Errors
    ///
    /// Also for `--help` and `--version`: `exit::usage` tells them from mistakes.
    pub(crate) fn read(program: &Program, arguments: &[OsString]) -> Result<Self, clap::Error> {
        let mut parser = Line::command()
            .bin_name(&program.name)
            .display_name(&program.name)
            .version(program.version);
        let line = parser
            .try_get_matches_from_mut(arguments)
            .and_then(|matches| Line::from_arg_matches(&matches))?;
        let command = line.command.unwrap_or(Command::Up);
        if let Command::Scale(scale) = &command
            && let Some(mistake) = scale.mistake()
        {
            return Err(parser.error(ErrorKind::ValueValidation, mistake));
        }
        Ok(Self {
            command,
            options: line.options,
        })
    }

    /// Returns what the settings are to be loaded from: the options given here, and
    /// the environment of this process.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            file: self.options.config.clone(),
            flags: self.options.flags(),
            ..Sources::from_process()
        }
    }
}

// === Behind the command line ===

/// The name of the stock binary.
const STOCK: &str = "conduit";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const BUILT_WITH: &str = concat!("(Conduit ", env!("CARGO_PKG_VERSION"), ")");

/// Serves the Model Context Protocol from a tree of supervised processes
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Reads settings from this file (TOML)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serves MCP at this address, such as 127.0.0.1:8080; port 0 takes any
    #[arg(long, global = true, value_name = "ADDR")]
    listen: Option<String>,
    /// Serves metrics and status at this address, such as 127.0.0.1:9464
    #[arg(long, global = true, value_name = "ADDR")]
    admin: Option<String>,
    /// Keeps sessions, tasks and sockets in this folder
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<String>,
    /// Writes the log for people or for machines
    #[arg(long, global = true, value_name = "text|json")]
    log_format: Option<String>,
    /// Logs more; twice, everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Sets any key of the configuration file; may be repeated
    #[arg(long, global = true, value_name = "TABLE.KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

impl Command {
    /// Returns whether only a supervisor asks for it.
    pub(crate) const fn is_child(&self) -> bool {
        match self {
            Self::Child(_) => true,
            Self::Up
            | Self::Stdio { .. }
            | Self::Config
            | Self::Keys(_)
            | Self::Tasks(_)
            | Self::Scale(_)
            | Self::Hub { .. }
            | Self::Explain { .. } => false,
        }
    }
}

impl Kind {
    /// Returns the role of its processes.
    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Hub => Role::Hub,
            Self::Gateway => Role::Gateway,
        }
    }
}

impl Scale {
    /// Says what is wrong with the number, if anything.
    const fn mistake(&self) -> Option<&'static str> {
        match (self.kind, self.count) {
            (Kind::Hub, 1..=MOST_HUBS) | (Kind::Gateway, 0..=MOST_GATEWAYS) => None,
            (Kind::Hub, _) => Some("there can be 1 to 64 hubs"),
            (Kind::Gateway, _) => Some("there can be 1 to 256 gateways, or 0: one for each core"),
        }
    }
}

impl Options {
    /// Returns the settings that the options make. `--set` comes last: it is the most
    /// explicit one.
    fn flags(&self) -> Vec<Flag> {
        let level = match self.verbose {
            0 => None,
            1 => Some("debug"),
            _ => Some("trace"),
        };
        let named = [
            ("--listen", "http.listen", self.listen.as_deref()),
            ("--admin", "admin.listen", self.admin.as_deref()),
            ("--state-dir", "state.dir", self.state_dir.as_deref()),
            ("--log-format", "log.format", self.log_format.as_deref()),
            ("-v", "log.level", level),
        ];
        let named = named
            .into_iter()
            .filter_map(|(option, path, text)| Some(flag(option, path, text?)));
        let set = self
            .set
            .iter()
            .map(|(path, text)| flag("--set", path, text));
        named.chain(set).collect()
    }
}

fn child_slot(text: &str) -> Result<Slot, String> {
    let slot: Slot = text.parse().map_err(|error: NotASlot| error.to_string())?;
    match slot.role {
        Role::Gateway | Role::Hub | Role::Store => Ok(slot),
        Role::Supervisor | Role::Operator => Err("no child fills it".to_owned()),
    }
}

fn flag(option: &'static str, path: &str, text: &str) -> Flag {
    Flag {
        option,
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn assignment(text: &str) -> Result<(String, String), &'static str> {
    let (path, value) = text.split_once('=').ok_or("there is no `=`")?;
    Ok((path.trim().to_owned(), value.to_owned()))
}
