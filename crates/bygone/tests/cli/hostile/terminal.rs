//! Names and messages of others with orders to the terminal in them: they are shown, and not obeyed.

use crate::support::{Engine, Run, World, altered, living};
use crate::terminal::shown;

/// Clears the screen, names the window, colours by a single byte, turns the direction of text, and begins a line that might
/// be ours.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{7f}\nfake: 9 removed";

/// Nothing in what a program writes is an order to a terminal, and no line of it is somebody else's.
#[track_caller]
fn assert_tame(run: &Run) {
    let said = run.everything();
    let orders = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!said.contains(orders), "{said:?}");
    assert!(!said.lines().any(|line| line.trim_start().starts_with("fake:")), "{said}");
}

/// A table that points at the tokens, with an index, both of that name; and a view that a check finds in the way.
async fn hostile_world() -> World {
    let world = World::with_tokens(Engine::Sqlite).await;
    let name = format!("\"{HOSTILE}\"");
    world
        .run_sql(&format!("CREATE TABLE {name} ({name} INTEGER PRIMARY KEY, token INTEGER REFERENCES tokens(id))"))
        .await;
    world
}

#[tokio::test]
async fn names_of_tables_are_shown_and_not_obeyed() {
    let world = hostile_world().await;
    let mut seen = 0;
    for arguments in [
        &["check"][..],
        &["plan"],
        &["index"],
        &["guard"],
        &["status", "--state", "state"],
        &["init", "${URL}", "--print"],
        &["sweep", "--dry-run"],
    ] {
        let url = world.database.url();
        let arguments: Vec<&str> = arguments.iter().map(|said| if *said == "${URL}" { &*url } else { said }).collect();
        // Statements for a database to run are as it must read them, but on a terminal.
        let formats = if arguments[0] == "index" { &["json", "jsonl"][..] } else { &["table", "json", "jsonl"] };
        for format in formats {
            let run = Run::of(world.bygone(&arguments).args(["--format", format]).env("BYGONE_LOG", "trace"));
            assert_eq!(run.code, Some(0), "{arguments:?}: {run:#?}");
            assert_tame(&run);
            seen += usize::from(run.everything().contains("[2J"));
        }
    }
    assert!(seen >= 6, "the name is told by some of them: {seen}");
    // In a document it is the name, to the last character.
    let plan = world.run(&["plan", "--format", "json"]).ends(0).only_policy();
    let warnings = plan["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains(HOSTILE)), "{plan:#}");
    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

/// What a terminal is sent besides is ours: colours, and a bar that is drawn.
#[tokio::test]
async fn on_a_terminal_they_are_not_obeyed_either() {
    let world = hostile_world().await;
    for arguments in [&["check"][..], &["plan"], &["index"], &["sweep"]] {
        let shown = shown(&mut world.bygone(arguments));
        for order in ["\u{1b}[2J", "\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(order), "{order:?} reaches the terminal of {arguments:?}: {shown:?}");
        }
    }
    assert_eq!(world.survivors().await, living());
}

/// What is printed for a database to run has nothing in it that a remark has let out.
#[tokio::test]
async fn a_remark_between_statements_ends_with_its_line() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let name = "\"x\nDROP TABLE tokens; --\"";
    world.run_sql(&format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY, token INTEGER REFERENCES tokens(id))")).await;
    let script = world.run(&["index"]).ends(0).stdout;
    assert!(script.contains("DROP TABLE tokens"), "the name stands in it: {script}");
    world.run_sql(&script).await;
    assert_eq!(world.survivors().await.len(), 100);
    world.run(&["index"]).ends(0).says(&["no index is missing"]);
}

/// The words of a database that fails, with what a row or a trigger put into them.
#[tokio::test]
async fn messages_of_databases_are_shown_and_not_obeyed() {
    for (engine, trigger) in [
        // A table that is not there, which only running it finds out.
        (
            Engine::Sqlite,
            format!("CREATE TRIGGER t BEFORE DELETE ON tokens BEGIN INSERT INTO \"{HOSTILE}\" VALUES (1); END"),
        ),
        (
            Engine::Postgres,
            format!(
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 EXECUTE 'SELECT * FROM \"{HOSTILE}\"'; RETURN OLD; END $$; \
                 CREATE TRIGGER t BEFORE DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION f()"
            ),
        ),
    ] {
        let world = World::with_tokens(engine).await;
        world.run_sql(&trigger).await;
        for format in ["table", "json"] {
            let run = Run::of(world.bygone(&["sweep", "--format", format]).env("BYGONE_LOG", "trace"));
            assert_ne!(run.code, None);
            assert!(run.everything().contains("[2J"), "{engine:?} tells the name: {run:#?}");
            assert_tame(&run);
        }
        assert_eq!(world.survivors().await.len(), 100, "nothing went");
    }
}

/// A lease is shown with the name that its owner gave himself.
#[test]
fn owners_of_leases_are_shown_and_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = crate::support::bygone(arguments);
        let run =
            Run::of(command.current_dir(directory.path()).env("BYGONE_STORE", "file:store").env("BYGONE_LOG", "trace"));
        assert_tame(&run);
        run
    };
    run(&["lease", "acquire", "--key", "k", "--ttl", "10m", "--owner", HOSTILE]).ends(0);
    run(&["lease", "acquire", "--key", "k"]).ends(75).says(&["held by"]);
    let described = run(&["lease", "describe", "--key", "k"]).ends(0);
    assert!(described.stdout.contains("[2J"), "{described:#?}");
    assert_eq!(run(&["lease", "describe", "--key", "k", "--json"]).ends(0).json()["owner"], HOSTILE);
}

/// A file is told by its name where something is to be said of it, and a path of the configuration in every document.
#[test]
fn names_of_files_are_shown_and_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("yard").join(HOSTILE.replace('/', ""));
    std::fs::create_dir_all(&root).unwrap();
    let file = root.join(HOSTILE);
    std::fs::write(&file, "content").unwrap();
    let config = "[source.yard]\nurl = \"file:yard\"\n[[policy]]\nname = \"old\"\nsource = \"yard\"\nkind = \"tree\"\nkeep = \"1d\"\n";
    std::fs::write(directory.path().join("bygone.toml"), config).unwrap();
    for arguments in [&["check"][..], &["plan"], &["sweep"], &["init", "file:yard", "--print"]] {
        let mut command = crate::support::bygone(arguments);
        let run = Run::of(command.current_dir(directory.path()).env("BYGONE_LOG", "trace")).ends(0);
        assert_tame(&run);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "content", "it is young");
}

/// A policy that is called so is refused: names of policies stand in metrics, lines and paths.
#[tokio::test]
async fn a_policy_cannot_be_called_so() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for name in ["x\\u001b[2J", "a\\nb", "\\u0000", "\\u009b"] {
        world.configure(&altered("name = \"tokens\"", &format!("name = \"{name}\"")));
        let run = world.refuses(65, &["sweep"]).await;
        assert_tame(&run);
    }
}
