//! The six ways in which the sessions of one login come to their end.

use super::world;
use crate::support::World;

const BROWSER: &str = "01930000-0000-0000-0000-000000000001";
const COMPAT: &str = "01930000-0000-0000-0000-000000000002";
const APP: &str = "01930000-0000-0000-0000-000000000003";
/// Made long ago: its key says 2020.
const UPSTREAM: &str = "01700000-0000-0000-0000-000000000004";

/// When a session ended, if it did.
type End = Option<&'static str>;
const A_DAY_AGO: End = Some("2026-11-09T12:00:00Z");
const A_MONTH_AGO: End = Some("2026-10-10T12:00:00Z");

/// A browser session with a compat session, an application's session and an upstream login, each with what belongs to
/// it.
async fn login(browser: End, compat: End, app: End) -> World {
    let time = |end: End| end.map_or_else(|| "NULL".to_owned(), |end| format!("'{end}'"));
    let (browser, compat, app) = (time(browser), time(compat), time(app));
    let world = world().await;
    world
        .run_sql(&format!(
            "INSERT INTO users VALUES ('{BROWSER}');
             INSERT INTO user_sessions VALUES ('{BROWSER}', '{BROWSER}', {browser});
             INSERT INTO compat_sessions VALUES ('{COMPAT}', '{BROWSER}', '{BROWSER}', {compat});
             INSERT INTO compat_access_tokens VALUES ('{COMPAT}', '{COMPAT}');
             INSERT INTO compat_refresh_tokens VALUES ('{COMPAT}', '{COMPAT}', '{COMPAT}');
             INSERT INTO compat_sso_logins VALUES ('{COMPAT}', '{COMPAT}', '{BROWSER}');
             INSERT INTO oauth2_sessions VALUES ('{APP}', '{BROWSER}', '{BROWSER}', NULL, {app});
             INSERT INTO oauth2_access_tokens VALUES ('{APP}', '{APP}');
             INSERT INTO oauth2_refresh_tokens VALUES ('{APP}', '{APP}', '{APP}');
             INSERT INTO upstream_oauth_authorization_sessions VALUES ('{UPSTREAM}', NULL, '{BROWSER}');
             INSERT INTO user_session_authentications VALUES ('{BROWSER}', '{BROWSER}', '{UPSTREAM}')"
        ))
        .await;
    world
}

/// Sweeps, and says which of the four sessions are left: browser, compat, application, upstream.
async fn left(world: &World, now: &str) -> [u64; 4] {
    world.run(&["sweep", "--now", now]).ends(0);
    let mut client = world.client().await;
    let mut left = [0; 4];
    let tables = ["user_sessions", "compat_sessions", "oauth2_sessions", "upstream_oauth_authorization_sessions"];
    for (count, table) in left.iter_mut().zip(tables) {
        *count = client.number(&format!("SELECT count(*) FROM {table}")).await;
    }
    for (session, children) in [
        (left[1], ["compat_access_tokens", "compat_refresh_tokens", "compat_sso_logins"].as_slice()),
        (left[2], &["oauth2_access_tokens", "oauth2_refresh_tokens"]),
        (left[0], &["user_session_authentications"]),
    ] {
        for table in children {
            let rows = client.number(&format!("SELECT count(*) FROM {table}")).await;
            assert_eq!(rows, session, "{table} goes with its session, and stays with it");
        }
    }
    left
}

const NOW: &str = "2026-11-10T12:00:00.123456Z";

#[tokio::test]
async fn all_ended_a_day_ago_and_all_stay() {
    assert_eq!(left(&login(A_DAY_AGO, A_DAY_AGO, A_DAY_AGO).await, NOW).await, [1, 1, 1, 1]);
}

/// A user is deactivated: all of its sessions end at once.
#[tokio::test]
async fn a_deactivated_user_is_forgotten_after_a_month() {
    let world = login(None, None, None).await;
    for table in ["user_sessions", "compat_sessions", "oauth2_sessions"] {
        world.run_sql(&format!("UPDATE {table} SET finished_at = '2026-10-10T12:00:00Z'")).await;
    }
    assert_eq!(left(&world, NOW).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn all_ended_a_month_ago_and_all_go_in_one_sweep() {
    assert_eq!(left(&login(A_MONTH_AGO, A_MONTH_AGO, A_MONTH_AGO).await, NOW).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn a_browser_session_stays_while_a_session_of_it_lives() {
    assert_eq!(left(&login(A_MONTH_AGO, None, A_MONTH_AGO).await, NOW).await, [1, 1, 0, 1]);
}

/// Long after the browser session ended, a logout still finds the session that hangs on it and ends it.
#[tokio::test]
async fn a_later_logout_still_finds_the_children() {
    let world = login(A_MONTH_AGO, None, A_MONTH_AGO).await;
    assert_eq!(left(&world, "2026-11-10T12:00:00Z").await, [1, 1, 0, 1]);
    let ended = "UPDATE compat_sessions SET finished_at = '2026-10-11T12:00:00Z' WHERE user_session_id = ";
    world.run_sql(&format!("{ended}'{BROWSER}'")).await;
    assert_eq!(left(&world, "2026-11-10T12:00:00Z").await, [1, 1, 0, 1], "30 days are not over yet");
    assert_eq!(left(&world, "2026-11-12T12:00:00Z").await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn nothing_ended_and_all_stay() {
    assert_eq!(left(&login(None, None, None).await, NOW).await, [1, 1, 1, 1]);
}
