//! What is installed with the program: every file of it is there, they name each other by the right names, and nothing runs
//! before somebody has said what is to be swept.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Engine, World, everyone, living};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What the manifest says of the Debian package.
fn deb() -> toml::Table {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    manifest["package"]["metadata"]["deb"].as_table().unwrap().clone()
}

/// Where each file of the package comes from, and where it goes, as a path.
fn assets() -> Vec<(String, String, u32)> {
    let asset = |asset: &toml::Value| {
        let part = |at: usize| asset[at].as_str().unwrap().to_owned();
        let (from, to, mode) = (part(0), part(1), u32::from_str_radix(&part(2), 8).unwrap());
        let name = Path::new(&from).file_name().unwrap().to_str().unwrap();
        let to = if to.ends_with('/') { format!("/{to}{name}") } else { format!("/{to}") };
        (from, to, mode)
    };
    deb()["assets"].as_array().unwrap().iter().map(asset).collect()
}

#[test]
fn every_file_of_the_package_is_there_or_is_made_by_the_build() {
    let build = read("packaging/build-deb");
    for (from, to, _) in assets() {
        if let Some(made) = from.strip_prefix("../../target/packaging/") {
            let is_made = match made.strip_prefix("bygone.").unwrap() {
                "1" => build.contains("\"$program\" man >\"$made/bygone.1\""),
                shell => build.contains("for shell in bash zsh fish; do") && "bash zsh fish".contains(shell),
            };
            assert!(is_made && build.contains("made=target/packaging\n"), "nobody makes {from}");
        } else if from != "target/release/bygone" {
            assert!(root().join("crates/bygone").join(&from).is_file(), "{from}, which goes to {to}, is not there");
        }
    }
    for script in ["packaging/build-deb", "packaging/debian/postinst", "packaging/debian/postrm"] {
        let mode = root().join(script).metadata().unwrap().permissions().mode();
        assert!(mode & 0o111 == 0o111 && read(script).starts_with("#!"), "{script} cannot be run");
    }
}

#[test]
fn unit_package_and_user_name_each_other() {
    let (unit, deb, assets) = (read("packaging/bygone.service"), deb(), assets());
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let installed = |path: &str| assets.iter().find(|(_, to, _)| to == path).unwrap_or_else(|| panic!("no {path}"));
    let words: Vec<&str> = value("ExecStart=").split(' ').collect();
    assert_eq!(installed(words[0]).2, 0o755);
    let config = words.last().unwrap();
    assert_eq!(installed(config).2, 0o640, "it may hold passwords");
    let conffiles = deb["conf-files"].as_array().unwrap();
    assert_eq!(conffiles.iter().map(|file| file.as_str().unwrap()).collect::<Vec<_>>(), [*config]);
    let sysusers = installed("/usr/lib/sysusers.d/bygone.conf");
    assert_eq!(sysusers.0, "../../packaging/sysusers.d/bygone.conf");
    let user = value("User=");
    assert!(read("packaging/sysusers.d/bygone.conf").contains(&format!("\nu {user} ")), "nobody makes {user}");
    assert!(read("packaging/debian/postinst").contains(&format!("chown root:{user} /etc/bygone {config}")));
    let units = &deb["systemd-units"];
    assert_eq!((units["enable"].as_bool(), units["start"].as_bool()), (Some(false), Some(false)));
}

#[tokio::test]
async fn the_configuration_that_is_installed_sweeps_nothing_until_it_is_edited() {
    let installed = read("packaging/bygone.toml");
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("access_tokens").await;
    world.add("access_tokens", 1, 10, crate::support::PAST).await;
    world.configure(&installed);
    world.refuses(65, &["serve", "--state", "state"]).await.says(&["has no policies"]);
    world.refuses(65, &["sweep"]).await;
    assert_eq!(world.ids("access_tokens").await.len(), 10);

    // The lines that are only proposed say something: keys and headers, without the signs before them.
    let meant = |line: &&str| line.starts_with('[') || line.contains(" = ");
    let edited: Vec<&str> = installed.lines().filter_map(|line| line.strip_prefix("# ")).filter(meant).collect();
    assert!(edited.len() > 8, "{edited:?}");
    world.configure(&edited.join("\n"));
    world.run(&["sweep"]).ends(0);
    assert_eq!((world.ids("access_tokens").await, world.survivors().await), (vec![], everyone()));
    assert_eq!(living().len(), 40);
}

/// No engine is at hand that could build it, so that it is read.
#[test]
fn the_container_runs_the_program_as_nobody_special() {
    let text = read("packaging/Containerfile");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let of = |instruction: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' ')).collect()
    };
    assert_eq!(of("FROM").len(), 2);
    assert_eq!(of("FROM")[1], "scratch", "nothing but the program is in it");
    let (image, tag) = of("FROM")[0].split_once(' ').unwrap().0.split_once(':').unwrap();
    assert!(!image.contains('/') && tag != "latest", "{image}:{tag}");
    let id: u32 = of("USER")[0].split(':').next().unwrap().parse().unwrap();
    assert!(id > 0);
    assert_eq!((of("ENTRYPOINT"), of("CMD")), (vec!["[\"/usr/bin/bygone\"]"], vec!["[\"serve\"]"]));
    for copied in of("COPY").iter().filter(|copied| copied.contains("/out/")) {
        let from = copied.split(' ').find(|word| word.starts_with("/out/")).unwrap();
        assert!(text.contains(&format!(" {from}")) && text.matches(from).count() > 1, "nobody makes {from}");
    }
    let environment = of("ENV")[0];
    let state = environment.split(' ').find_map(|variable| variable.strip_prefix("STATE_DIRECTORY=")).unwrap();
    assert_eq!(of("VOLUME"), [state]);
    assert!(environment.contains("BYGONE_CONFIG="), "{environment}");
    // The compiler is one that may build it.
    let wanted = read("Cargo.toml")
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"1.")?.split('"').next()?.parse::<u32>().ok());
    let used = tag.strip_prefix("1.").and_then(|tag| tag.split('-').next()?.parse::<u32>().ok());
    assert!(used >= wanted && used.is_some(), "{used:?} {wanted:?}");
}
