//! `[[use]]` and `enabled`.

mod refused;

use std::path::Path;

use jiff::SignedDuration;
use miette::SourceSpan;

use super::super::{Action, Schedule, parse_with};
use super::{Config, ConfigError, POLICY, SOURCE, TestEnv, codes, rendered};
use crate::packs::{PACKS, Pack};

/// A pack that has what the embedded ones do not all have.
const SHOP: &str = r#"
[pack]
about  = "A shop"
schema = "1"

[[policy]]
name     = "shop-carts"
table    = "carts"
deadline = "at"
keep     = "1d"
where    = "note <> '${SECRET} $$'"
schedule = "0 0 * * * *"

[[policy]]
name     = "shop-orders"
table    = "orders"
deadline = "at"
keep     = "1d"
with     = ["a.b->c.d"]
after    = ["shop-carts"]
every    = "1h"

[[policy]]
name     = "shop-visits"
enabled  = false
table    = "visits"
newest   = 3
"#;

const USE: &str = "[[use]]\npack = \"shop\"\nsource = \"auth\"\n";

fn config(text: &str) -> Result<Config, ConfigError> {
    const SHOPS: &[Pack] = &[Pack { name: "shop", text: SHOP }];
    parse_with(SHOPS, "bygone.toml", text, Path::new("/nowhere"), &TestEnv)
}

/// A file that uses the shop, with `lines` added to the use.
fn file(lines: &str) -> String {
    let end = if lines.is_empty() || lines.ends_with('\n') { "" } else { "\n" };
    format!("{SOURCE}{USE}{lines}{end}")
}

fn used(lines: &str) -> Config {
    config(&file(lines)).unwrap_or_else(|error| panic!("{}", rendered(&error)))
}

fn names(config: &Config) -> Vec<&str> {
    config.policies.iter().map(|policy| policy.name.as_str()).collect()
}

#[test]
fn every_pack_is_good() {
    for pack in PACKS {
        let all: Vec<String> = pack.contents().policies.into_iter().map(|(name, _)| name).collect();
        let text = format!("{SOURCE}[[use]]\npack = {:?}\nsource = \"auth\"\non = {all:?}\n", pack.name);
        let config = super::config(&text).unwrap_or_else(|error| panic!("{}", rendered(&error)));
        assert_eq!(names(&config), all);
        assert!(config.policies.iter().all(|policy| policy.schedule.is_some()), "{}", pack.name);
        // As it is, it has something to do too.
        assert!(super::config(&text.replace("\non = ", "\n# ")).is_ok(), "{}", pack.name);
    }
}

#[test]
fn a_pack_is_taken_as_it_is() {
    let config = used("");
    assert_eq!(names(&config), ["shop-carts", "shop-orders"]);
    assert_eq!(config.disabled, ["shop-visits"]);
    let [carts, orders] = config.policies.as_slice() else { unreachable!() };
    assert_eq!((carts.source.as_str(), carts.rows().unwrap().table.as_str()), ("auth", "carts"));
    // Its text holds no placeholders.
    assert_eq!(carts.rows().unwrap().where_.as_deref(), Some("note <> '${SECRET} $$'"));
    assert_eq!(orders.after, ["shop-carts"]);
    assert_eq!(orders.schedule, Some(Schedule::Every(SignedDuration::from_hours(1))));
}

#[test]
fn what_is_said_replaces_what_the_pack_says() {
    let config = used(
        "[use.policy.shop-carts]\nkeep = \"${KEEP}\"\nevery = \"2h\"\n\
         [use.policy.shop-orders]\nschedule = \"0 0 * * *\"\nbudget = { page = 7 }\n\
         [use.policy.shop-visits]\nenabled = true\ntable = \"looks\"\nclear = [\"ip\"]\n",
    );
    let [carts, orders, visits] = config.policies.as_slice() else { panic!("{:?}", names(&config)) };
    assert_eq!(carts.rows().unwrap().keep, SignedDuration::from_hours(30 * 24));
    assert_eq!(carts.schedule, Some(Schedule::Every(SignedDuration::from_hours(2))));
    assert_eq!(
        orders.schedule,
        Some(Schedule::Cron { pattern: "0 0 * * *".to_owned(), zone: jiff::tz::TimeZone::UTC })
    );
    assert_eq!((orders.budget.page, orders.rows().unwrap().keep), (Some(7), SignedDuration::from_hours(24)));
    assert_eq!(
        (visits.rows().unwrap().table.as_str(), visits.rows().unwrap().newest.as_ref().unwrap().rows),
        ("looks", 3)
    );
    assert!(matches!(visits.rows().unwrap().action, Action::Update { .. }));
}

#[test]
fn policies_are_switched_on_and_off() {
    let config = used("off = [\"shop-carts\"]\non = [\"shop-visits\", \"shop-orders\"]");
    assert_eq!(names(&config), ["shop-orders", "shop-visits"]);
    assert_eq!(config.disabled, ["shop-carts"]);
}

#[test]
fn a_pack_twice() {
    let own = POLICY.to_owned() + "after = [\"eu-shop-orders\", \"shop-carts\"]\n";
    let text = format!("{}{USE}prefix = \"${{PLACE:-eu-}}\"\noff = [\"shop-carts\"]\n{own}", file(""));
    let config = config(&text).unwrap_or_else(|error| panic!("{}", rendered(&error)));
    assert_eq!(names(&config), ["tokens", "shop-carts", "shop-orders", "eu-shop-orders"]);
    assert_eq!(config.disabled, ["shop-visits", "eu-shop-carts", "eu-shop-visits"]);
    assert_eq!(config.policies[0].after, ["eu-shop-orders", "shop-carts"]);
    assert_eq!(config.policies[3].after, ["eu-shop-carts"]);
}

/// A name that the file says in the place of the pack's is a whole one.
#[test]
fn an_order_that_is_replaced() {
    let lines = "prefix = \"eu-\"\n[use.policy.shop-carts]\nafter = [\"eu-shop-visits\", \"tokens\"]\n";
    let config = config(&format!("{}{POLICY}", file(lines))).unwrap();
    assert_eq!(config.policies[1].after, ["eu-shop-visits", "tokens"]);
}

#[test]
fn spans_point_at_the_pack_or_at_what_is_said() {
    let lines = "[use.policy.shop-orders]\ntable = \"bills\"\n";
    let text = file(lines);
    let config = used(lines);
    let at = |span: SourceSpan| &text[span.offset()..span.offset() + span.len()];
    let orders = &config.policies[1];
    assert_eq!((at(orders.spans.name), at(orders.spans.source)), ("\"shop\"", "\"auth\""));
    assert_eq!(
        (at(orders.spans.keys["table"]), orders.spans.keys.get("deadline").copied().map(at)),
        ("\"bills\"", Some("\"shop\""))
    );
    assert_eq!(
        orders.rows().unwrap().with[0].links.iter().map(|link| at(link.span)).collect::<Vec<_>>(),
        ["\"shop\"", "\"shop\""]
    );
    assert_eq!(at(orders.rows().unwrap().deadline.as_ref().unwrap().columns[0].span), "\"shop\"");
}

/// A link of a chain is not looked for in the name of the pack, even where both are as long.
#[test]
fn a_name_as_long_as_the_text_of_the_pack() {
    const SHOPS: &[Pack] = &[Pack { name: "a-shop-b", text: SHOP }];
    let text = file("").replace("\"shop\"", "\"a-shop-b\"");
    let config = parse_with(SHOPS, "bygone.toml", &text, Path::new("/nowhere"), &TestEnv).unwrap();
    let [chain] = config.policies[1].rows().unwrap().with.as_slice() else { unreachable!() };
    assert!(chain.links.iter().all(|link| link.span == chain.span));
}

#[test]
fn a_policy_that_is_off_is_read_and_takes_no_part() {
    let text = format!("{SOURCE}{POLICY}enabled = true\n{}enabled = false\n", POLICY.replace("tokens", "off"));
    let config = super::config(&text).unwrap();
    assert_eq!(names(&config), ["tokens"]);
    assert_eq!(config.disabled, ["off"]);
    let error = super::config(&text.replace("enabled = false", "enabled = false\nzone = \"Nowhere\"")).unwrap_err();
    assert_eq!(codes(&error), ["config::bad_zone"]);
}
